import PlatformC
import StreamTransport

/// The error with which a TCP connection could not be started.
struct SocketFailure: Error, Equatable {
    /// An `errno`.
    let code: CInt
    /// The numeric address.
    let address: String
    /// Indicates whether the system has made a socket, so that the error concerns the address.
    let hasSocket: Bool

    /// The cause for the consumer.
    var cause: TransportFailure.Cause {
        switch self.code {
        case EMFILE: .descriptorsExhausted(limit: DescriptorLimit.current)
        case ENFILE, ENOMEM, ENOBUFS: .unavailable
        case _ where self.hasSocket: .unreachable(code: self.code)
        // A system without IPv6; sandboxes without any network refuse IPv4 as well.
        case EAFNOSUPPORT where self.address.utf8.contains(UInt8(ascii: ":")): .unreachable(code: self.code)
        default: .environmentUnusable(.socket)
        }
    }
}
