import CLibwebsocketsShim
import Deflate
import HTTPProtocol
import StreamTransport
import WebSocketProtocol

/// The parts of a response's head that an exchange reads.
extension ResponseMessageHead {
    /// Returns the response's fields that a request asks for.
    func fields(askedForBy request: TransportRequest) -> [HTTPField] {
        guard !request.capturesAllFields else { return self.fields.map { HTTPField($0.name, $0.value) } }
        return request.capturedFieldNames.compactMap { name in
            self.fields.distinctValue(of: name).map { HTTPField(name, $0) }
        }
    }

    /// The coding of the response's content (RFC 9110 section 8.4).
    var contentCoding: PayloadCoding {
        guard let coding = self.fields.distinctValue(of: "content-encoding"), ContentDecoder.isCoded(coding) else {
            return .none
        }
        return .content(coding)
    }

    /// Returns the WebSocket that the answer to a handshake establishes.
    func channel(
        of handshake: OpeningHandshake, offer: PerMessageDeflateOffer?, for request: TransportRequest,
        at now: Moment
    ) throws(TransportFailure) -> WebSocketChannel {
        do throws(OpeningHandshake.Failure) {
            let agreement = try handshake.validate(
                OpeningHandshake.Response(
                    statusCode: 101,
                    upgrade: self.fields.value(of: "upgrade"),
                    connection: self.fields.value(of: "connection"),
                    accept: self.fields.value(of: "sec-websocket-accept"),
                    extensions: self.fields.value(of: "sec-websocket-extensions"),
                    subprotocol: self.fields.value(of: "sec-websocket-protocol"),
                    announcesContent: self.announcesContent),
                expectedAccept: Self.digest(of: handshake.acceptInput))
            guard let offer, !agreement.extensions.isEmpty else {
                return WebSocketChannel(coding: .none, request: request, at: now)
            }
            let deflate = try? PerMessageDeflateAgreement(agreement.extensions, offer: offer)
            guard let deflate else { throw .malformedExtensions }
            return WebSocketChannel(coding: .messages(deflate), request: request, at: now)
        } catch {
            throw TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(error.fault))
        }
    }

    /// Indicates whether fields announce content, of which a length of 0 is none: some server frameworks send it with
    /// status code 101 although RFC 9110 section 8.6 forbids it, and browsers take it.
    private var announcesContent: Bool {
        self.fields.values(of: "content-length").contains { $0 != "0" }
            || self.fields.value(of: "transfer-encoding") != nil
    }

    private static func digest(of input: String) -> String {
        Base64.encode(SHA1Digest.digest(of: Array(input.utf8)))
    }
}

extension OpeningHandshake.Failure {
    /// The part of the answer that is at fault.
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

extension HTTPLimits {
    /// The limits of a server's response and of a proxy's answer; the byte limit of the head limits its lines as well.
    static let responses = HTTPLimits(fieldLineByteCount: 65_536, fieldLineCount: .max)
}

extension HTTPError {
    /// The cause for the consumer.
    var cause: TransportFailure.Cause {
        switch self {
        case .headTooLarge(let limit), .fieldLineTooLong(let limit): .headerSectionTooLarge(limit: limit)
        case .unsupportedTransferCoding: .unsupportedTransferCoding
        case .unexpectedSwitchingProtocols: .protocolSwitched
        case .notHTTP, .controlCharacter, .invalidFieldLine, .tooManyFieldLines,
            .invalidContentLength, .conflictingLengths, .transferEncodingInHTTP10:
            .notHTTP
        case .invalidChunkLine, .chunkSizeOverflow, .chunkLineTooLong, .missingChunkTerminator,
            .trailerSectionTooLarge:
            .malformedBody
        case .noResponse, .incompleteHead, .incompleteBody, .incompleteChunk, .missingLastChunk,
            .incompleteTrailerSection:
            .connectionLost
        }
    }
}
