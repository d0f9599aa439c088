import HTTPProtocol
import StreamTransport

/// Asks a proxy for a tunnel, and reads its answer (RFC 9110 section 9.3.6).
///
/// Pure: bytes in, an outcome out. The status code counts once the header section is complete: after a success the
/// bytes that follow belong to the tunnel, and after a refusal no more bytes are read.
struct TunnelHandshake {
    // 101 is a refusal too, like any other final response outside 2xx, so it is read as one.
    private var reader = ResponseReader(method: .connect, acceptsUpgrade: true, limits: .responses)

    /// Returns the CONNECT request for an endpoint.
    static func request(
        for endpoint: TransportEndpoint, through proxy: ProxyServer
    ) throws(TransportFailure) -> [UInt8] {
        let authority = "\(RequestFields.bracketed(endpoint.host)):\(endpoint.port)"
        let login = proxy.credential.map { (name: "Proxy-Authorization", value: $0.basicAuthorization) }
        do throws(RequestHead.Failure) {
            return try RequestHead.bytes(
                method: .connect, target: authority, host: authority, fields: login.map { [$0] } ?? [])
        } catch {
            throw TransportFailure(phase: .send, cause: .invalidRequest("no proxy can be asked for the host"))
        }
    }

    /// Reads what the proxy sent next, from `position` on, and moves `position` past what belongs to the answer.
    ///
    /// No bytes may be received after an outcome other than `incomplete`.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> ProxyGreeting.Outcome {
        do throws(HTTPError) {
            guard let head = try self.reader.readHead(bytes, at: &position) else { return .incomplete }
            return 200..<300 ~= head.statusCode ? .established : .failed(.proxyRefused(statusCode: head.statusCode))
        } catch {
            return .failed(error.cause)
        }
    }
}
