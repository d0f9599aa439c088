package import StreamTransport

/// Asks a proxy for a tunnel to an endpoint, and reads its answers.
///
/// Pure: bytes in, values and bytes out. After `init`, and after each `receive`, `established` included, the bytes to
/// send are taken and written before any byte of the tunnel: a proxy may answer before it is asked.
package struct ProxyGreeting {
    /// The state of the request for a tunnel.
    package enum Outcome: Equatable, Sendable {
        /// The answer is not complete yet.
        case incomplete
        /// The tunnel is established; the bytes that follow belong to the endpoint.
        case established
        /// The proxy will not open a tunnel.
        case failed(TransportFailure.Cause)
    }

    private enum Handshake {
        case tunnel(TunnelHandshake)
        case socks(SOCKSHandshake)
    }

    private var handshake: Handshake
    private var bytesToSend: [UInt8]
    private var outcome = Outcome.incomplete

    /// Creates a greeting of which no byte has been sent.
    package init(for endpoint: TransportEndpoint, through proxy: ProxyServer) throws(TransportFailure) {
        switch proxy.scheme {
        case .http, .https:
            self.handshake = .tunnel(TunnelHandshake())
            self.bytesToSend = try TunnelHandshake.request(for: endpoint, through: proxy)
        case .socks5:
            var handshake = SOCKSHandshake(for: endpoint, credential: proxy.credential)
            self.bytesToSend = handshake.takeBytesToSend()
            self.handshake = .socks(handshake)
        }
    }

    /// Takes the bytes to send, in order; empty when there are none.
    package mutating func takeBytesToSend() -> [UInt8] {
        defer { self.bytesToSend = [] }
        return self.bytesToSend
    }

    /// Reads `bytes` from `position` on, and moves `position` past what belongs to the proxy.
    ///
    /// The first bytes of the tunnel may be in the same read; they are left in place. An outcome other than
    /// `incomplete` is final, and no further bytes are read.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> Outcome {
        guard self.outcome == .incomplete else { return self.outcome }
        switch self.handshake {
        case .tunnel(var handshake):
            self.outcome = handshake.receive(bytes, at: &position)
            self.handshake = .tunnel(handshake)
        case .socks(var handshake):
            self.outcome = handshake.receive(bytes, at: &position)
            self.bytesToSend += handshake.takeBytesToSend()
            self.handshake = .socks(handshake)
        }
        return self.outcome
    }
}
