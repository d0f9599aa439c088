import CLibwebsocketsShim
import HTTPProtocol
import StreamTransport
import WebSocketProtocol

/// Turns a request into its head, and finds faults that prevent it from being sent.
enum RequestFields {
    /// Returns the fault of a request, or nil.
    ///
    /// A line break in a field would begin a second field.
    static func fault(in request: TransportRequest) -> String? {
        let endpoint = request.endpoint
        if endpoint.host.utf8.count > Int(CLWS_HOST_LIMIT) { return "the host is longer than 255 bytes" }
        if endpoint.host.isEmpty { return "the host is empty" }
        if !endpoint.target.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) { return "the path is not percent-encoded" }
        if !endpoint.host.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) { return "the host is not in ASCII" }
        for field in request.fields where !Self.isSendable(field) {
            // Never the value: it may be a secret.
            return "a field has a name or a value that RFC 9110 section 5 does not allow"
        }
        if request.fields.contains(where: Self.isReserved) { return "a field is one that the transport writes itself" }
        if request.isHeld, !Self.canBeHeld(request.exchange) { return "only a POST can be held" }
        return Self.fault(ofMethod: request.method)
    }

    /// Returns the fault of a method; nil for one that can be sent, and for the exchange's own.
    ///
    /// The answer to a CONNECT is no response that ends (RFC 9110 section 9.3.6).
    private static func fault(ofMethod method: String?) -> String? {
        guard let method else { return nil }
        guard let method = RequestMethod(rawValue: method) else { return "the method is not a token" }
        return method == .connect ? "the method is CONNECT" : nil
    }

    private static func canBeHeld(_ exchange: TransportRequest.Exchange) -> Bool {
        switch exchange {
        case .post: true
        case .get, .webSocket: false
        }
    }

    /// Returns whether a second field line with this name could end the request where the peer does not expect it (RFC
    /// 9112 section 6.3).
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

    /// Returns the value of `Host`: brackets around an IPv6 address, the port when it is not the scheme's default.
    static func host(of endpoint: TransportEndpoint) -> String {
        let name = Self.bracketed(endpoint.host)
        return endpoint.port == (endpoint.isSecure ? 443 : 80) ? name : "\(name):\(endpoint.port)"
    }

    /// Returns a host in the form of an authority (RFC 3986 section 3.2.2).
    static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }

    /// Returns the request line and the header section of a request.
    static func head(
        of request: TransportRequest, handshake: OpeningHandshake?
    ) throws(RequestHead.Failure) -> [UInt8] {
        var fields = handshake?.fields.map { (name: $0.name, value: $0.value) } ?? [("Connection", "close")]
        if case .post(let body) = request.exchange { fields.append(("Content-Length", String(body.count))) }
        fields += request.fields.map { ($0.name, $0.value) }
        return try RequestHead.bytes(
            method: request.sentMethod, target: request.endpoint.target, host: Self.host(of: request.endpoint),
            fields: fields)
    }
}

extension TransportRequest {
    /// The method in the request line.
    var sentMethod: RequestMethod {
        switch self.exchange {
        case .webSocket: .get
        case .get: self.namedMethod ?? .get
        case .post: self.namedMethod ?? .post
        }
    }

    private var namedMethod: RequestMethod? { self.method.flatMap { RequestMethod(rawValue: $0) } }
}
