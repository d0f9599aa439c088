// The public types that `StreamSession` declares. It is no product, so that its users get them with this module; there is
// no other attribute than this one for it.

@_exported public import enum StreamSession.ChappieErrorCategory
@_exported public import struct StreamSession.ChappieRateLimitBackoffPolicy
@_exported public import enum StreamSession.ChappieRecoveryPolicy
@_exported public import enum StreamSession.ChappieReplaySafety
@_exported public import enum StreamSession.ChappieRetryGuidance
@_exported public import enum StreamSession.ChappieTransportKind
