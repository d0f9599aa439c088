// Negotiation of permessage-deflate, the client's side (RFC 7692 section 7.1).
// Values without an owner.

package import WebSocketProtocol

/// The offer of a client.
package struct PerMessageDeflateOffer: Equatable, Sendable {
    /// The name of the extension.
    package static let extensionName = "permessage-deflate"

    /// The offer's parameter for the client's own window (RFC 7692 section 7.1.2.2).
    package enum ClientWindow: Equatable, Sendable {
        /// No parameter: the server must not limit it.
        case notOffered
        /// The server may limit it.
        case limitedByServer
        /// The window has at most this many bits, and the server may limit it further.
        case bits(Int)
    }

    /// Asks the server to begin every message with an empty window.
    package var serverNoContextTakeover: Bool
    /// Announces that the client will begin every message with an empty window.
    package var clientNoContextTakeover: Bool
    /// Asks the server for a window of at most that many bits, 8 to 15.
    package var serverMaxWindowBits: Int?
    /// The client's own window.
    package var clientWindow: ClientWindow

    /// Creates an offer; the default only lets the server limit the client's window.
    package init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
        serverMaxWindowBits: Int? = nil, clientWindow: ClientWindow = .limitedByServer
    ) {
        precondition(serverMaxWindowBits.map { (8...15).contains($0) } ?? true, "a window has 8 to 15 bits")
        if case .bits(let bits) = clientWindow { precondition((8...15).contains(bits), "a window has 8 to 15 bits") }
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientWindow = clientWindow
    }

    /// The value of `Sec-WebSocket-Extensions`.
    package var fieldValue: String {
        var parts = [Self.extensionName]
        if self.serverNoContextTakeover { parts.append("server_no_context_takeover") }
        if self.clientNoContextTakeover { parts.append("client_no_context_takeover") }
        if let bits = self.serverMaxWindowBits { parts.append("server_max_window_bits=\(bits)") }
        switch self.clientWindow {
        case .notOffered: break
        case .limitedByServer: parts.append("client_max_window_bits")
        case .bits(let bits): parts.append("client_max_window_bits=\(bits)")
        }
        return parts.joined(separator: "; ")
    }
}

/// The agreement that results from the server's answer.
package struct PerMessageDeflateAgreement: Equatable, Sendable {
    /// The fault of the server's answer: the connection is failed, with no close code of its own (RFC 7692 section 5.2
    /// and RFC 6455 section 4.1).
    package enum Failure: Error, Equatable, Sendable {
        /// An extension that is not permessage-deflate.
        case unknownExtension
        /// More than one extension.
        case severalExtensions
        /// A parameter that RFC 7692 does not define.
        case unknownParameter
        /// A parameter that occurs twice.
        case duplicateParameter(Parameter)
        /// A value that is invalid for the parameter, a missing one included.
        case invalidValue(Parameter)
        /// A parameter that is only allowed in answer to an offer of it, or a greater value than offered.
        case notOffered(Parameter)
        /// A parameter that the offer asked for, which is missing in the answer.
        case missing(Parameter)
    }

    /// The parameters of RFC 7692 section 7.1.
    package enum Parameter: String, Sendable {
        /// The server begins every message with an empty window.
        case serverNoContextTakeover = "server_no_context_takeover"
        /// The client begins every message with an empty window.
        case clientNoContextTakeover = "client_no_context_takeover"
        /// The greatest window of the server.
        case serverMaxWindowBits = "server_max_window_bits"
        /// The greatest window of the client.
        case clientMaxWindowBits = "client_max_window_bits"
    }

    /// Indicates whether the server begins every message with an empty window.
    package private(set) var serverNoContextTakeover = false
    /// Indicates whether the client must begin every message with an empty window.
    package private(set) var clientNoContextTakeover: Bool
    /// The server's window, 8 to 15 bits.
    package private(set) var serverMaxWindowBits = 15
    /// The client's window, 8 to 15 bits.
    package private(set) var clientMaxWindowBits = 15

    /// Indicates whether zlib can compress for the agreement: its raw deflate has no window of 8 bits.
    package var allowsClientCompression: Bool { self.clientMaxWindowBits >= 9 }

    /// Reads the extensions of the answer; nil when there is none, which declines the offer.
    package init?(_ extensions: [WebSocketExtension], offer: PerMessageDeflateOffer) throws(Failure) {
        guard let answer = extensions.first else { return nil }
        guard FieldValue.isEqual(answer.name, PerMessageDeflateOffer.extensionName) else { throw .unknownExtension }
        guard extensions.count == 1 else { throw .severalExtensions }
        self.clientNoContextTakeover = offer.clientNoContextTakeover
        if case .bits(let bits) = offer.clientWindow { self.clientMaxWindowBits = bits }
        var seen: Set<Parameter> = []
        for parameter in answer.parameters {
            guard let name = Self.parameter(named: parameter.name) else { throw .unknownParameter }
            guard seen.insert(name).inserted else { throw .duplicateParameter(name) }
            try self.apply(name, value: parameter.value, offer: offer)
        }
        if offer.serverNoContextTakeover, !self.serverNoContextTakeover { throw .missing(.serverNoContextTakeover) }
        if offer.serverMaxWindowBits != nil, !seen.contains(.serverMaxWindowBits) {
            throw .missing(.serverMaxWindowBits)
        }
    }

    private static func parameter(named name: String) -> Parameter? {
        [.serverNoContextTakeover, .clientNoContextTakeover, .serverMaxWindowBits, .clientMaxWindowBits]
            .first { (parameter: Parameter) in FieldValue.isEqual(parameter.rawValue, name) }
    }

    private mutating func apply(_ name: Parameter, value: String?, offer: PerMessageDeflateOffer) throws(Failure) {
        switch name {
        case .serverNoContextTakeover:
            guard value == nil else { throw .invalidValue(name) }
            self.serverNoContextTakeover = true
        case .clientNoContextTakeover:
            guard value == nil else { throw .invalidValue(name) }
            self.clientNoContextTakeover = true
        case .serverMaxWindowBits:
            // RFC 7692 section 7.1.2.1: allowed without an offer, and never more than the offer.
            let bits = try Self.windowBits(value, of: name)
            guard bits <= offer.serverMaxWindowBits ?? 15 else { throw .notOffered(name) }
            self.serverMaxWindowBits = bits
        case .clientMaxWindowBits:
            // RFC 7692 section 7.1.2.2: only in answer to an offer, and never more than the offer.
            let bits = try Self.windowBits(value, of: name)
            guard offer.clientWindow != .notOffered, bits <= self.clientMaxWindowBits else { throw .notOffered(name) }
            self.clientMaxWindowBits = bits
        }
    }

    /// Reads 8 to 15 in decimal, without a leading zero (RFC 7692 section 7.1.2.1).
    private static func windowBits(_ value: String?, of name: Parameter) throws(Failure) -> Int {
        switch value {
        case "8": 8
        case "9": 9
        case "10": 10
        case "11": 11
        case "12": 12
        case "13": 13
        case "14": 14
        case "15": 15
        default: throw .invalidValue(name)
        }
    }
}
