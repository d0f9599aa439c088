/// The permessage-deflate offer of a WebSocket (RFC 7692 section 7.1).
///
/// The server may always limit the client's window, because that costs the client no memory.
package struct MessageCompressionOffer: Sendable, Hashable {
    /// Asks the server to compress each message by itself, so that no state is kept between messages.
    package var serverNoContextTakeover = false
    /// Announces that the client compresses each message by itself.
    package var clientNoContextTakeover = false
    /// The largest window of the server, as a power of two, 8 to 15; nil leaves it to the server.
    package var serverMaxWindowBits: Int?
    /// The largest window of the client, as a power of two, 8 to 15; nil makes no promise.
    package var clientMaxWindowBits: Int?

    /// Creates an offer without parameters.
    package init() {}

    /// The offer that keeps the memory of an idle connection small: a window of 4 KiB that is not kept.
    package static let lowMemory: Self = {
        var offer = Self()
        offer.serverNoContextTakeover = true
        offer.serverMaxWindowBits = 12
        return offer
    }()
}

extension TransportRequest.Exchange {
    /// Returns a GET that asks for a WebSocket, with or without an offer of compression without parameters.
    package static func webSocket(offersCompression: Bool) -> Self {
        .webSocket(compression: offersCompression ? MessageCompressionOffer() : nil)
    }
}
