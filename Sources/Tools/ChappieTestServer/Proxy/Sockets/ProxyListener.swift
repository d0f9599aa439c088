// The listening socket of a proxy.
//
// Owned by the proxy's loop, which closes it.
import PlatformC

/// A non-blocking socket that listens on 127.0.0.1.
struct ProxyListener: Sendable {
    /// The result of `accept`.
    enum Accepted {
        case connection(CInt)
        case none
        /// The process has no descriptor left.
        case exhausted
    }

    /// The descriptor.
    let descriptor: CInt
    /// The port.
    let port: Int

    /// Binds and listens.
    init(port: UInt16) throws(ChappieTestServer.StartError) {
        do throws(ListeningSocket.Failure) {
            (self.descriptor, self.port) = try ListeningSocket.open(address: "127.0.0.1", port: port)
        } catch {
            throw .cannotListen(code: error.code)
        }
        ProxySocket.prepare(self.descriptor)
    }

    /// Accepts a waiting connection.
    func acceptConnection() -> Accepted {
        while true {
            let descriptor = accept(self.descriptor, nil, nil)
            if descriptor >= 0 { return .connection(descriptor) }
            switch errno {
            // A connection that was reset while it waited is skipped.
            case EINTR, ECONNABORTED: continue
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
            default: return .none
            }
        }
    }

    /// Closes the listening socket.
    func closeDescriptor() { _ = close(self.descriptor) }
}
