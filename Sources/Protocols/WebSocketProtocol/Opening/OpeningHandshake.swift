// The opening handshake of a client, without I/O, hash or randomness (RFC 6455 section 4.1).
// The owner is the opener of the connection.

/// Makes the fields of the request and validates the answer.
package struct OpeningHandshake: Equatable, Sendable {
    /// The 16 random bytes of a handshake.
    package struct Nonce: Hashable, Sendable {
        private let high: UInt64
        private let low: UInt64

        /// Makes a nonce of two random numbers; the most significant byte of `high` is the first.
        package init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        /// The bytes in their order.
        package var bytes: [UInt8] {
            [self.high, self.low].flatMap { word in
                (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
            }
        }
    }

    /// A field of the request.
    package struct Field: Equatable, Sendable {
        /// The field name.
        package let name: String
        /// The field value.
        package let value: String
    }

    /// The parts of the answer that are validated.
    ///
    /// Values of a field that was sent several times are joined with `, `.
    package struct Response: Equatable, Sendable {
        /// The status code.
        package var statusCode: Int
        /// `Upgrade`.
        package var upgrade: String?
        /// `Connection`.
        package var connection: String?
        /// `Sec-WebSocket-Accept`.
        package var accept: String?
        /// `Sec-WebSocket-Extensions`.
        package var extensions: String?
        /// `Sec-WebSocket-Protocol`.
        package var subprotocol: String?
        /// Indicates whether there is a `Content-Length` other than 0, or a `Transfer-Encoding`.
        package var announcesContent: Bool

        /// Makes an answer.
        package init(
            statusCode: Int, upgrade: String? = nil, connection: String? = nil, accept: String? = nil,
            extensions: String? = nil, subprotocol: String? = nil, announcesContent: Bool = false
        ) {
            self.statusCode = statusCode
            self.upgrade = upgrade
            self.connection = connection
            self.accept = accept
            self.extensions = extensions
            self.subprotocol = subprotocol
            self.announcesContent = announcesContent
        }
    }

    /// The agreements of the handshake.
    package struct Agreement: Equatable, Sendable {
        /// The extensions of the answer, each with a name that was offered.
        ///
        /// Their parameters are not validated here.
        package let extensions: [WebSocketExtension]
        /// The subprotocol, one of those offered; nil when the server chose none.
        package let subprotocol: String?

        /// Makes an agreement.
        package init(extensions: [WebSocketExtension] = [], subprotocol: String? = nil) {
            self.extensions = extensions
            self.subprotocol = subprotocol
        }
    }

    /// The fault of an answer.
    package enum Failure: Error, Equatable, Sendable {
        /// The status code is not 101: the answer is an ordinary response.
        case statusCode(Int)
        /// There is no `Upgrade`.
        case missingUpgrade
        /// `Upgrade` is not `websocket`.
        case upgradeIsNotWebSocket
        /// There is no `Connection`.
        case missingConnection
        /// `Connection` does not contain `upgrade`.
        case connectionIsNotUpgrade
        /// There is no `Sec-WebSocket-Accept`.
        case missingAccept
        /// `Sec-WebSocket-Accept` belongs to another key.
        case acceptMismatch
        /// `Sec-WebSocket-Extensions` does not follow its grammar.
        case malformedExtensions
        /// An extension that was not offered.
        case extensionNotOffered
        /// A subprotocol that was not offered, or several.
        case subprotocolNotOffered
        /// `Content-Length` other than 0, or `Transfer-Encoding`: an answer with status code 101 has no content (RFC 9110 section
        /// 8.6, RFC 9112 section 6.1), and the beginning of the frames is uncertain.
        case contentAnnounced
    }

    /// The value of `Sec-WebSocket-Key`.
    package let key: String
    /// The value of `Sec-WebSocket-Extensions`; nil offers none.
    package let extensionOffer: String?
    /// The subprotocols offered, the preferred one first.
    package let subprotocols: [String]

    /// Makes a handshake.
    ///
    /// The nonce is random and used once.
    package init(nonce: Nonce, extensionOffer: String? = nil, subprotocols: [String] = []) {
        self.key = Base64.encode(nonce.bytes)
        self.extensionOffer = extensionOffer
        self.subprotocols = subprotocols
    }

    /// The input of the SHA-1 digest; base64 of the digest is the accept value to expect.
    package var acceptInput: String { self.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" }

    /// The fields to add to a GET request over HTTP/1.1 that has its `Host`.
    package var fields: [Field] {
        var fields = [
            Field(name: "Upgrade", value: "websocket"),
            Field(name: "Connection", value: "Upgrade"),
            Field(name: "Sec-WebSocket-Key", value: self.key),
            Field(name: "Sec-WebSocket-Version", value: "13"),
        ]
        if let offer = self.extensionOffer {
            fields.append(Field(name: "Sec-WebSocket-Extensions", value: offer))
        }
        if !self.subprotocols.isEmpty {
            fields.append(Field(name: "Sec-WebSocket-Protocol", value: self.subprotocols.joined(separator: ", ")))
        }
        return fields
    }

    /// Validates the answer, in the order of RFC 6455 section 4.1.
    ///
    /// `expectedAccept` is base64 of the SHA-1 digest of `acceptInput`.
    package func validate(_ response: Response, expectedAccept: String) throws(Failure) -> Agreement {
        guard response.statusCode == 101 else { throw .statusCode(response.statusCode) }
        guard !response.announcesContent else { throw .contentAnnounced }
        guard let upgrade = response.upgrade else { throw .missingUpgrade }
        guard FieldValue.isEqual(FieldValue.trimmed(upgrade[...]), "websocket") else { throw .upgradeIsNotWebSocket }
        guard let connection = response.connection else { throw .missingConnection }
        guard FieldValue.tokens(of: connection).contains(where: { FieldValue.isEqual($0, "upgrade") }) else {
            throw .connectionIsNotUpgrade
        }
        guard let accept = response.accept else { throw .missingAccept }
        guard FieldValue.trimmed(accept[...]) == expectedAccept else { throw .acceptMismatch }
        return Agreement(
            extensions: try self.offeredExtensions(of: response.extensions),
            subprotocol: try self.offeredSubprotocol(of: response.subprotocol))
    }

    private func offeredExtensions(of value: String?) throws(Failure) -> [WebSocketExtension] {
        guard let value else { return [] }
        guard let extensions = try? ExtensionListParser.parse(value) else { throw .malformedExtensions }
        let offered = (try? ExtensionListParser.parse(self.extensionOffer ?? "")) ?? []
        for agreed in extensions where !offered.contains(where: { FieldValue.isEqual($0.name, agreed.name) }) {
            throw .extensionNotOffered
        }
        return extensions
    }

    private func offeredSubprotocol(of value: String?) throws(Failure) -> String? {
        guard let value else { return nil }
        // Subprotocols are compared exactly: RFC 6455 section 4.1 has no other rule for them.
        let chosen = String(FieldValue.trimmed(value[...]))
        guard self.subprotocols.contains(chosen) else { throw .subprotocolNotOffered }
        return chosen
    }
}
