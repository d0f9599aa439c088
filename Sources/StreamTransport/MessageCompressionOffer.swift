/// What a WebSocket offers of permessage-deflate (RFC 7692 section 7.1).
///
/// The server may always limit the client's window, because that costs the client nothing.
package struct MessageCompressionOffer: Sendable, Hashable {
    /// Asks the server to compress each message by itself, so that nothing is kept between messages.
    package var serverNoContextTakeover = false
    /// Says that the client compresses each message by itself.
    package var clientNoContextTakeover = false
    /// Asks the server for a window of at most two to the power of this, 8 to 15; nil leaves it to the server.
    package var serverMaxWindowBits: Int?
    /// Says that the client's window has at most two to the power of this, 8 to 15; nil promises nothing.
    package var clientMaxWindowBits: Int?

    /// An offer that asks for nothing.
    package init() {}

    /// Asks for what keeps the memory of an idle connection small: a window of 4 KiB that is not kept.
    package static let lowMemory: Self = {
        var offer = Self()
        offer.serverNoContextTakeover = true
        offer.serverMaxWindowBits = 12
        return offer
    }()
}

extension TransportRequest.Exchange {
    /// A GET that asks for a WebSocket, with an offer of compression that asks for nothing or without one.
    package static func webSocket(offersCompression: Bool) -> Self {
        .webSocket(compression: offersCompression ? MessageCompressionOffer() : nil)
    }
}
