import Deflate
import StreamTransport

/// The coding that must be removed from a record's bytes to yield the payload.
enum PayloadCoding: Sendable, Equatable {
    /// No coding.
    case none
    /// The content coding of a response body (RFC 9110 section 8.4), as the field names it.
    case content(String)
    /// permessage-deflate (RFC 7692), on the messages that are marked.
    case messages(PerMessageDeflateAgreement)
}

extension PerMessageDeflateOffer {
    /// Creates the offer of RFC 7692 from a request's.
    init(_ offer: MessageCompressionOffer) {
        self.init(
            serverNoContextTakeover: offer.serverNoContextTakeover,
            clientNoContextTakeover: offer.clientNoContextTakeover, serverMaxWindowBits: offer.serverMaxWindowBits,
            clientWindow: offer.clientMaxWindowBits.map { .bits($0) } ?? .limitedByServer)
    }
}
