// Public types that are declared in modules that are no products; `@_exported` makes them available with this module.

@_exported public import enum ResponseEvents.ChappieDialect
@_exported public import struct ResponseEvents.ChappieTokenUsage
@_exported public import struct StreamSession.ChappieCircuitBreakerPolicy
@_exported public import struct StreamSession.ChappieConcurrencyPolicy
@_exported public import enum StreamSession.ChappieErrorCategory
@_exported public import struct StreamSession.ChappieRateLimitBackoffPolicy
@_exported public import enum StreamSession.ChappieRecoveryPolicy
@_exported public import enum StreamSession.ChappieReplaySafety
@_exported public import enum StreamSession.ChappieRetryGuidance
@_exported public import struct StreamSession.ChappieStreamingTransportPolicy
@_exported public import enum StreamSession.ChappieTransportKind
@_exported public import struct StreamTransport.ChappiePinnedKey
@_exported public import struct StreamTransport.ChappieTLSPolicy
@_exported public import enum StreamTransport.ChappieTransportPhase
@_exported public import struct TransportSurface.ChappieArgumentError
@_exported public import struct TransportSurface.ChappieLogEntry
@_exported public import struct TransportSurface.ChappieMetric
@_exported public import enum TransportSurface.ChappieProxyPolicy
@_exported public import struct TransportSurface.ChappieTransportFailure
@_exported public import enum TransportSurface.ChappieTransportVersion
@_exported public import struct TransportSurface.ChappieWebSocketCompression
