import CLibwebsocketsShim
import StreamTransport

/// What an exchange does on its way through a proxy, before TLS and before its request.
extension ServiceConnection {
    /// The proxy on the way.
    var proxy: ProxyServer? { try? self.plan.way.get().proxy }

    /// What the proxy is asked; empty without one.
    var tunnelRequest: [UInt8] {
        self.proxy.map { TunnelHandshake.request(for: self.plan.request.endpoint, through: $0) } ?? []
    }

    /// What a failure to connect is about, as far as the exchange has come.
    func phaseOfConnecting(_ phase: TransportFailure.Phase) -> TransportFailure.Phase {
        // Until the tunnel stands, whatever fails is the proxy's.
        self.tunnel == nil ? phase : .proxy
    }

    /// The proxy has sent something.
    func tunnelAnswered(_ bytes: UnsafeRawBufferPointer, on stream: OpaquePointer) {
        guard let progress = self.tunnel?.receive(bytes) else { return }
        clws_tunnel_take(stream, progress.byteCount)
        switch progress.answer {
        case .incomplete: break
        case .established: self.enterTunnel(on: stream)
        case .failed(let cause): self.tunnelFailed(cause)
        }
    }

    private func enterTunnel(on stream: OpaquePointer) {
        guard clws_tunnel_open(stream) else { return self.tunnelFailed(.unavailable) }
        self.tunnel = nil
    }

    /// There is no tunnel, and there will be none.
    func tunnelFailed(_ cause: TransportFailure.Cause) {
        self.finish(.failed(TransportFailure(phase: .proxy, cause: cause)))
    }
}
