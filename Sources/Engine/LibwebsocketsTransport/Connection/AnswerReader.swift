import Deflate
import HTTPProtocol
import StreamTransport
import WebSocketProtocol

/// Reads the answer to a request: its head, what it agrees to, and its body.
///
/// It belongs to the service thread.
struct AnswerReader {
    private var reader: ResponseReader
    /// The opening handshake that the request carries; nil for a request without an upgrade.
    let handshake: OpeningHandshake?
    private let offer: PerMessageDeflateOffer?

    /// Creates a reader for the answer to a request, and the handshake for the request's head.
    init(to request: TransportRequest) {
        var isUpgrade = false
        if case .webSocket(let compression) = request.exchange {
            isUpgrade = true
            let offer = compression.map { PerMessageDeflateOffer($0) }
            let nonce = OpeningHandshake.Nonce(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
            self.offer = offer
            self.handshake = OpeningHandshake(
                nonce: nonce, extensionOffer: offer?.fieldValue, subprotocols: request.subprotocols)
        } else {
            self.offer = nil
            self.handshake = nil
        }
        self.reader = ResponseReader(method: request.sentMethod, acceptsUpgrade: isUpgrade, limits: .responses)
    }

    /// Reads the head; returns nil while it is incomplete.
    mutating func readHead(
        _ bytes: UnsafeRawBufferPointer, at position: inout Int
    ) throws(TransportFailure) -> ResponseMessageHead? {
        do throws(HTTPError) {
            return try self.reader.readHead(bytes, at: &position)
        } catch {
            throw TransportFailure(phase: .upgrade, cause: error.cause)
        }
    }

    /// Returns the WebSocket that a head establishes; nil when a body follows the head.
    func channel(
        of head: ResponseMessageHead, for request: TransportRequest, at now: Moment
    ) throws(TransportFailure) -> WebSocketChannel? {
        guard let handshake = self.handshake, head.statusCode == 101 else { return nil }
        return try head.channel(of: handshake, offer: self.offer, for: request, at: now)
    }

    /// Indicates whether the head says that no body follows it.
    ///
    /// The bytes that follow are not part of the response then (RFC 9112 section 6.3).
    var hasNoBody: Bool { [BodyFraming.none, .length(0)].contains(self.reader.bodyFraming) }

    /// Reads the body; `ResponseReader.readBody` has the rules.
    mutating func readBody(_ bytes: UnsafeMutableRawBufferPointer) throws(HTTPError) -> BodyPiece {
        try self.reader.readBody(bytes)
    }

    /// Indicates whether the response is whole when the connection ends here.
    var isWholeAtEnd: Bool {
        do throws(HTTPError) {
            try self.reader.connectionEnded()
            return true
        } catch {
            return false
        }
    }
}
