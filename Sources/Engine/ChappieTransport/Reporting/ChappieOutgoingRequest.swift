public import PlatformFoundation
public import StreamSession

/// A request that is about to be sent, for a program that may refuse it.
public struct ChappieOutgoingRequest: Sendable {
    /// The address of the request.
    public let url: URL
    /// The transport of the request.
    public let transport: ChappieTransportKind
    /// The body, or the WebSocket message, as it is sent.
    ///
    /// The credential is not part of it.
    public let body: [UInt8]
    /// The caller's name for the request.
    public let requestID: String
    /// The attempt's number; counts from 1.
    public let attempt: Int
}
