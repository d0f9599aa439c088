// The system calls of the callback's listener. They make no decisions.
import PlatformC

/// A non-blocking socket on 127.0.0.1; its creator closes it.
struct CallbackSocket: Sendable, Equatable {
    /// The descriptor.
    let descriptor: CInt

    /// The result of a non-blocking call.
    enum Transfer: Sendable, Equatable {
        /// The number of bytes, at least one.
        case bytes(Int)
        /// No bytes at this moment.
        case blocked
        /// The peer has ended its half, or the connection is gone.
        case ended
    }

    /// The error of a system call, with its `errno`.
    struct Failure: Error, Equatable {
        let code: CInt
    }

    /// Listens on a port, 0 for any; returns the port as well.
    static func listen(port: UInt16) throws(Failure) -> (socket: Self, port: UInt16) {
        let socket = try Self.make()
        var isOn: CInt = 1
        _ = unsafe setsockopt(
            socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(socket.descriptor, generic, size) == 0 && PlatformC.listen(socket.descriptor, 128) == 0
                    && getsockname(socket.descriptor, generic, &size) == 0
            }
        }
        guard isListening else {
            let code = errno
            socket.close()
            throw Failure(code: code)
        }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    private static func make() throws(Failure) -> Self {
        let descriptor = SystemSocket.open(family: AF_INET)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        return Self(prepared: descriptor)
    }

    private init(prepared descriptor: CInt) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        SystemSocket.raiseNoSignal(descriptor)
    }

    /// Accepts the next connection; nil when none is waiting.
    func accept() throws(Failure) -> Self? {
        let descriptor = PlatformC.accept(self.descriptor, nil, nil)
        if descriptor >= 0 { return Self(prepared: descriptor) }
        switch errno {
        case EAGAIN, EINTR, ECONNABORTED: return nil
        case let code: throw Failure(code: code)
        }
    }

    /// Appends the available bytes, 4 KiB at most.
    func receive(into bytes: inout [UInt8]) -> Transfer {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe recv(self.descriptor, &buffer, buffer.count, 0)
        if count > 0 { bytes += buffer[..<count] }
        return Self.transfer(count)
    }

    /// Sends the bytes that the system takes at once.
    func send(_ bytes: ArraySlice<UInt8>) -> Transfer {
        Self.transfer(
            unsafe bytes.withUnsafeBytes {
                unsafe PlatformC.send(self.descriptor, $0.baseAddress, $0.count, SystemSocket.sendingFlags)
            })
    }

    private static func transfer(_ count: Int) -> Transfer {
        if count > 0 { return .bytes(count) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? .blocked : .ended
    }

    /// Ends the sending half of the connection.
    func endWriting() { _ = shutdown(self.descriptor, CInt(SHUT_WR)) }

    /// Closes the socket.
    func close() { _ = PlatformC.close(self.descriptor) }
}
