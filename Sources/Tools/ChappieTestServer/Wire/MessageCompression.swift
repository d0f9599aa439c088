// Negotiating permessage-deflate as a server, and its two directions.
//
// Owned by the WebSocket exchange, on its connection thread.

/// The compression that a handshake agreed on (RFC 7692 section 7).
struct CompressionAgreement: Equatable, Sendable {
    var serverNoContextTakeover = false
    var clientNoContextTakeover = false
    var serverMaxWindowBits: Int?
    var clientMaxWindowBits: Int?

    /// The answer's `Sec-WebSocket-Extensions` value.
    var fieldValue: String {
        var value = "permessage-deflate"
        if self.serverNoContextTakeover { value += "; server_no_context_takeover" }
        if self.clientNoContextTakeover { value += "; client_no_context_takeover" }
        if let bits = self.serverMaxWindowBits { value += "; server_max_window_bits=\(bits)" }
        if let bits = self.clientMaxWindowBits { value += "; client_max_window_bits=\(bits)" }
        return value
    }

    /// Accepts the first offer that the options allow; nil when there is none.
    static func negotiate(
        offers: String, options: ChappieTestServer.MessageCompression
    ) -> CompressionAgreement? {
        guard case .deflate(let parameters) = options else { return nil }
        for offer in offers.split(separator: ",") {
            if let agreement = self.accept(offer: offer.split(separator: ";").map(\.trimmed), parameters) {
                return agreement
            }
        }
        return nil
    }

    private static func accept(
        offer: [String], _ options: ChappieTestServer.DeflateParameters
    ) -> CompressionAgreement? {
        guard offer.first?.lowercased() == "permessage-deflate" else { return nil }
        var agreement = CompressionAgreement(
            serverNoContextTakeover: options.serverNoContextTakeover,
            clientNoContextTakeover: options.clientNoContextTakeover,
            serverMaxWindowBits: options.serverMaxWindowBits
        )
        for parameter in offer.dropFirst() {
            let parts = parameter.split(separator: "=", maxSplits: 1).map(\.trimmed)
            let bits = parts.count == 2 ? Int(parts[1].filter { $0 != "\"" }) : nil
            switch parts.first?.lowercased() {
            case "server_no_context_takeover": agreement.serverNoContextTakeover = true
            case "client_no_context_takeover": agreement.clientNoContextTakeover = true
            case "server_max_window_bits":
                // zlib has no raw window of 256 bytes: an offer that requires it is declined.
                guard let bits, (9...15).contains(bits) else { return nil }
                agreement.serverMaxWindowBits = min(bits, options.serverMaxWindowBits ?? 15)
            case "client_max_window_bits":
                guard parts.count == 1 || (8...15).contains(bits ?? 0) else { return nil }
                agreement.clientMaxWindowBits = options.clientMaxWindowBits.map { min($0, bits ?? 15) }
            default: return nil
            }
        }
        return agreement
    }
}

/// Compresses and decompresses the messages of one connection.
final class MessageCodec {
    private let agreement: CompressionAgreement
    private let minimumByteCount: Int
    private let compressor: Compressor
    private let decompressor = Decompressor(.raw(windowBits: 15))

    /// Starts both directions.
    ///
    /// Messages shorter than `minimumByteCount` are sent uncompressed.
    init(_ agreement: CompressionAgreement, minimumByteCount: Int) {
        self.agreement = agreement
        self.minimumByteCount = minimumByteCount
        self.compressor = Compressor(.raw(windowBits: agreement.serverMaxWindowBits ?? 15))
    }

    /// Returns the compressed message without its empty last block (RFC 7692 section 7.2.1); nil when it is too short.
    func compress(_ message: [UInt8]) -> [UInt8]? {
        guard message.count >= self.minimumByteCount, !message.isEmpty else { return nil }
        if self.agreement.serverNoContextTakeover { self.compressor.reset() }
        var bytes = self.compressor.compress(message)
        if bytes.suffix(4) == [0x00, 0x00, 0xFF, 0xFF] { bytes.removeLast(4) }
        return bytes
    }

    /// Returns the message that a client compressed; nil when it is not valid deflate data or longer than `limit`.
    func decompress(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
        if self.agreement.clientNoContextTakeover { self.decompressor.reset() }
        return self.decompressor.decompress(bytes + [0x00, 0x00, 0xFF, 0xFF], limit: limit)
    }
}
