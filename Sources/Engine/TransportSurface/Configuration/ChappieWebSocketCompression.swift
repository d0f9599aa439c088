package import StreamTransport

/// The compression of a WebSocket's messages (RFC 7692).
public struct ChappieWebSocketCompression: Sendable, Hashable {
    /// The offer to the server; nil for none.
    package let offer: MessageCompressionOffer?

    /// Compression as the server chooses: small messages compress best, and a stream may keep 40 KiB for its window.
    public static let enabled = Self(offer: MessageCompressionOffer())
    /// Compression of each server message by itself, with a window of 4 KiB.
    ///
    /// For programs with thousands of streams: an idle one keeps no window. Small messages compress less.
    public static let lowMemory = Self(offer: .lowMemory)
    /// No compression.
    public static let disabled = Self(offer: nil)
}
