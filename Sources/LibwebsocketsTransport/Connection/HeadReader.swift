import CLibwebsocketsShim
import Deflate
import StreamTransport
import WebSocketProtocol

/// Reads a response's header section out of libwebsockets.
///
/// Usable while its event is handled, and not after.
struct HeadReader {
    let stream: OpaquePointer
    let request: TransportRequest

    /// The fields that the request asked for and the response has.
    func fields() -> [HTTPField] {
        self.request.capturedFieldNames.compactMap { name in self.value(of: name).map { HTTPField(name, $0) } }
    }

    /// A field's value; the first one when there are several lines of it that libwebsockets does not know.
    func value(of name: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 8192) { buffer in
            let count = clws_copy_field(self.stream, name.lowercased() + ":", buffer.baseAddress, CInt(buffer.count))
            guard count >= 0 else { return nil }
            return String(decoding: UnsafeRawBufferPointer(buffer).prefix(Int(count)), as: UTF8.self)
        }
    }

    /// How the response's body is coded.
    func contentCoding() throws(TransportFailure) -> PayloadCoding {
        // libwebsockets removes exactly this transfer coding, and leaves any other in the body (RFC 9112 section 7).
        if let transferCoding = self.value(of: "transfer-encoding"), transferCoding != "chunked" {
            throw TransportFailure(phase: .upgrade, cause: .unsupportedTransferCoding)
        }
        // libwebsockets takes the beginning of anything for a number.
        if let length = self.value(of: "content-length"), !FieldValue.isContentLength(length) {
            throw TransportFailure(phase: .upgrade, cause: .notHTTP)
        }
        guard let contentCoding = self.value(of: "content-encoding") else { return .none }
        return contentCoding.lowercased() == "identity" ? .none : .content(contentCoding)
    }

    /// The WebSocket that the answer to a handshake establishes.
    func channel(
        of handshake: OpeningHandshake, offer: PerMessageDeflateOffer?, at now: ContinuousClock.Instant
    ) throws(TransportFailure) -> WebSocketChannel {
        do throws(OpeningHandshake.Failure) {
            let agreement = try handshake.validate(
                OpeningHandshake.Response(
                    statusCode: 101,
                    upgrade: self.value(of: "upgrade"),
                    connection: self.value(of: "connection"),
                    accept: self.value(of: "sec-websocket-accept"),
                    extensions: self.value(of: "sec-websocket-extensions"),
                    subprotocol: self.value(of: "sec-websocket-protocol"),
                    // libwebsockets would take the frames for that content, and end or cut them with it.
                    announcesContent: self.value(of: "content-length") != nil
                        || self.value(of: "transfer-encoding") != nil),
                expectedAccept: Self.digest(of: handshake.acceptInput))
            guard let offer, !agreement.extensions.isEmpty else {
                return WebSocketChannel(coding: .none, request: self.request, at: now)
            }
            let deflate = try? PerMessageDeflateAgreement(agreement.extensions, offer: offer)
            guard let deflate else { throw .malformedExtensions }
            return WebSocketChannel(coding: .messages(deflate), request: self.request, at: now)
        } catch {
            throw TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(error.fault))
        }
    }

    private static func digest(of input: String) -> String {
        var digest = [UInt8](repeating: 0, count: 20)
        let bytes = Array(input.utf8)
        clws_sha1(bytes, bytes.count, &digest)
        return Base64.encode(digest)
    }
}

extension OpeningHandshake.Failure {
    /// Which part of the answer is to blame.
    fileprivate var fault: TransportFailure.OpeningHandshakeFault {
        switch self {
        case .missingUpgrade, .upgradeIsNotWebSocket: .upgrade
        case .missingConnection, .connectionIsNotUpgrade: .connection
        case .missingAccept, .acceptMismatch: .accept
        case .malformedExtensions, .extensionNotOffered: .extensions
        case .subprotocolNotOffered: .subprotocol
        case .contentAnnounced: .content
        case .statusCode: .interimResponse
        }
    }
}
