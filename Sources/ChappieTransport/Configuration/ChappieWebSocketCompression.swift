import StreamTransport

/// How the messages of a WebSocket may be compressed (RFC 7692).
public struct ChappieWebSocketCompression: Sendable, Hashable {
    /// Nil offers none.
    let offer: MessageCompressionOffer?

    /// Whatever the server likes: small messages compress best, and a stream may keep 40 KiB for its window.
    public static let enabled = Self(offer: MessageCompressionOffer())
    /// Each of the server's messages by itself, with a window of 4 KiB.
    ///
    /// For programs with thousands of streams: an idle one keeps no window. Small messages compress less.
    public static let lowMemory = Self(offer: .lowMemory)
    /// Not at all.
    public static let disabled = Self(offer: nil)
}
