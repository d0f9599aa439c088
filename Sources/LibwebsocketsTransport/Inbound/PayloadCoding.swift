import Deflate
import StreamTransport

/// What has to be done to a record's bytes before they are the payload.
enum PayloadCoding: Sendable, Equatable {
    /// Nothing.
    case none
    /// The content coding of a response body (RFC 9110 section 8.4), as the field says it.
    case content(String)
    /// permessage-deflate (RFC 7692), on the messages that are marked.
    case messages(PerMessageDeflateAgreement)
}

extension PerMessageDeflateOffer {
    /// The offer in the words of RFC 7692.
    init(_ offer: MessageCompressionOffer) {
        self.init(
            serverNoContextTakeover: offer.serverNoContextTakeover,
            clientNoContextTakeover: offer.clientNoContextTakeover, serverMaxWindowBits: offer.serverMaxWindowBits,
            clientWindow: offer.clientMaxWindowBits.map { .bits($0) } ?? .limitedByServer)
    }
}
