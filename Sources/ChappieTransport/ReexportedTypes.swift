// Public types that are declared in `StreamSession`, which is not a product; `@_exported` makes them available with
// this module.

@_exported public import enum StreamSession.ChappieErrorCategory
@_exported public import struct StreamSession.ChappieRateLimitBackoffPolicy
@_exported public import enum StreamSession.ChappieRecoveryPolicy
@_exported public import enum StreamSession.ChappieReplaySafety
@_exported public import enum StreamSession.ChappieRetryGuidance
@_exported public import enum StreamSession.ChappieTransportKind
