// Public types that are declared in other modules; `@_exported` makes them available with this module.

@_exported public import struct ServerSentEvents.ServerSentEvent
@_exported public import enum StreamSession.ChappieErrorCategory
@_exported public import enum StreamSession.ChappieReplaySafety
@_exported public import enum StreamSession.ChappieRetryGuidance
@_exported public import struct StreamTransport.ChappiePinnedKey
@_exported public import struct StreamTransport.ChappieTLSPolicy
@_exported public import enum StreamTransport.ChappieTransportPhase
@_exported public import struct TransportSurface.ChappieArgumentError
@_exported public import struct TransportSurface.ChappieLogEntry
@_exported public import struct TransportSurface.ChappieMetric
@_exported public import enum TransportSurface.ChappieProxyPolicy
@_exported public import struct TransportSurface.ChappieTransportFailure
