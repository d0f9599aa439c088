// The public types that the state machine shares with its users.

@_exported public import enum StreamSession.ChappieErrorCategory
@_exported public import struct StreamSession.ChappieRateLimitBackoffPolicy
@_exported public import enum StreamSession.ChappieRecoveryPolicy
@_exported public import enum StreamSession.ChappieReplaySafety
@_exported public import enum StreamSession.ChappieTransportKind
