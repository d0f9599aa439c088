import CLibwebsocketsShim
import StreamTransport
import WebSocketProtocol

/// Turns a request into the field lines that libwebsockets does not write itself, and finds what cannot be sent.
enum RequestFields {
    /// What is wrong with a request, or nil.
    ///
    /// libwebsockets cuts long targets and hosts without a word, and a line break in a field would be a second field.
    static func fault(in request: TransportRequest) -> String? {
        let endpoint = request.endpoint
        if endpoint.target.utf8.count > Int(CLWS_TARGET_LIMIT) { return "the path is longer than 2,000 bytes" }
        if endpoint.host.utf8.count > Int(CLWS_HOST_LIMIT) { return "the host is longer than 120 bytes" }
        if endpoint.host.isEmpty { return "the host is empty" }
        if !endpoint.target.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) { return "the path is not percent-encoded" }
        if !endpoint.host.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) { return "the host is not in ASCII" }
        for field in request.fields where !Self.isSendable(field) {
            // Never the value: it may be a secret.
            return "a field has a name or a value that RFC 9110 section 5 does not allow"
        }
        if request.fields.contains(where: Self.isReserved) { return "a field is one that the transport writes itself" }
        if request.isHeld, !Self.canBeHeld(request.exchange) { return "only a POST can be held" }
        return nil
    }

    private static func canBeHeld(_ exchange: TransportRequest.Exchange) -> Bool {
        switch exchange {
        case .post: true
        case .get, .webSocket: false
        }
    }

    /// A second one of these could end the request where the peer does not expect it (RFC 9112 section 6.3).
    private static func isReserved(_ field: HTTPField) -> Bool {
        let name = field.name.lowercased()
        return ["host", "connection", "upgrade", "content-length", "transfer-encoding"].contains(name)
            || name.hasPrefix("sec-websocket-")
    }

    private static func isSendable(_ field: HTTPField) -> Bool {
        let separators = Set("\"(),/:;<=>?@[\\]{}".utf8)
        return !field.name.isEmpty
            && field.name.utf8.allSatisfy { 0x21...0x7E ~= $0 && !separators.contains($0) }
            && field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    /// The value of `Host`: brackets around an IPv6 address, the port when it is not the scheme's own.
    static func host(of endpoint: TransportEndpoint) -> String {
        let name = Self.bracketed(endpoint.host)
        return endpoint.port == (endpoint.isSecure ? 443 : 80) ? name : "\(name):\(endpoint.port)"
    }

    /// A host as it stands in an authority (RFC 3986 section 3.2.2).
    static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    /// The field lines of a request, each with its line break.
    static func bytes(for request: TransportRequest, handshake: OpeningHandshake?) -> [UInt8] {
        var lines: [UInt8] = []
        func append(_ name: String, _ value: String) {
            lines.append(contentsOf: "\(name): \(value)\r\n".utf8)
        }
        for field in handshake?.fields ?? [] { append(field.name, field.value) }
        if case .post(let body) = request.exchange { append("Content-Length", String(body.count)) }
        for field in request.fields { append(field.name, field.value) }
        return lines
    }
}
