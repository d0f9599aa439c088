// Both ends of a proxied connection in the hands of one test: a client, the listener behind the proxy, and the bytes.
//
// Owned by the test that makes them. A receive time-out keeps a broken proxy from hanging the tests.
import Glibc
import Testing

@testable import ChappieTestServer

/// A blocking socket that uses only system calls.
final class RawSocket {
    let descriptor: CInt

    init(_ descriptor: CInt) {
        self.descriptor = descriptor
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Connects to a port of 127.0.0.1.
    convenience init(port: Int, receiveBufferByteCount: CInt? = nil) throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        self.init(descriptor)
        if var count = receiveBufferByteCount {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &count, socklen_t(MemoryLayout<CInt>.size))
        }
        let result = withLoopbackAddress(port: port) { connect(descriptor, $0, $1) }
        try #require(result == 0)
    }

    deinit { close(self.descriptor) }

    func send(_ bytes: [UInt8]) throws {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw ReadFailure(end: .reset) }
            start += count
        }
    }

    /// Sends bytes until the peer stops taking them; returns false when all were taken.
    func sendUntilItFails() -> Bool {
        do {
            for _ in 0..<200_000 { try self.send(Array(repeating: 0, count: 100)) }
            return false
        } catch {
            return true
        }
    }

    func finishSending() { shutdown(self.descriptor, Int32(SHUT_WR)) }

    /// Closes with a reset.
    func reset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        // The descriptor stays a valid one for `deinit`: the number of a closed socket may be reused.
        let null = open("/dev/null", O_RDONLY)
        dup2(null, self.descriptor)
        close(null)
    }

    /// Returns the next bytes, at most `count`.
    func readSome(_ limit: Int = 65_536) throws -> [UInt8] {
        var scratch = [UInt8](repeating: 0, count: limit)
        let count = recv(self.descriptor, &scratch, limit, 0)
        if count == 0 { throw ReadFailure(end: .endOfStream) }
        if count < 0 { throw ReadFailure(end: errno == ECONNRESET ? .reset : .timedOut) }
        return Array(scratch[..<count])
    }

    func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += try self.readSome(count - bytes.count) }
        return bytes
    }

    /// Returns all bytes up to the end, and the way in which it ended.
    func readToEnd() -> Reception {
        var bytes: [UInt8] = []
        while true {
            do { bytes += try self.readSome() } catch {
                return Reception(bytes: bytes, end: (error as? ReadFailure)?.end ?? .timedOut)
            }
        }
    }
}

/// The bytes received from a connection, and its end.
struct Reception: Equatable {
    var bytes: [UInt8]
    var end: ReadEnd

    init(bytes: some Sequence<UInt8>, end: ReadEnd) {
        self.bytes = Array(bytes)
        self.end = end
    }
}

private func withLoopbackAddress<Result>(
    port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

/// The server behind a proxy, as a listening socket.
final class RawListener {
    private let descriptor: CInt
    let port: Int

    /// Binds; connections are refused until `start()`.
    init() throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let descriptor = self.descriptor
        try #require(withLoopbackAddress(port: 0) { bind(descriptor, $0, $1) } == 0)
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        self.port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(self.descriptor) }

    func start() throws { try #require(listen(self.descriptor, 4096) == 0) }

    func acceptConnection() throws -> RawSocket {
        var entry = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&entry, 1, 20_000) == 1)
        let accepted = accept(self.descriptor, nil, nil)
        try #require(accepted >= 0)
        return RawSocket(accepted)
    }
}

/// A proxy, and the listener behind it.
struct ProxyFixture {
    let listener: RawListener
    let proxy: FaultProxy

    /// Starts both.
    init(
        _ faults: [FaultProxy.Fault] = [], host: String = "127.0.0.1",
        _ change: (inout FaultProxy.Configuration) -> Void = { _ in }
    ) throws {
        self.listener = try RawListener()
        try self.listener.start()
        var configuration = FaultProxy.Configuration(
            upstream: .init(host: host, port: self.listener.port), plan: .init(faults))
        change(&configuration)
        self.proxy = try FaultProxy(configuration: configuration)
    }

    func connect() throws -> ProxiedPair {
        let client = try RawSocket(port: self.proxy.port)
        return ProxiedPair(client: client, server: try self.listener.acceptConnection())
    }

    /// The record of a connection.
    func record(_ number: Int) throws -> FaultProxy.ConnectionRecord {
        try #require(self.proxy.connections.first { $0.number == number })
    }
}

/// The two ends of one proxied connection.
struct ProxiedPair {
    let client: RawSocket
    let server: RawSocket

    /// The end that bytes of a direction come from.
    func sender(_ direction: FaultProxy.Direction) -> RawSocket {
        direction == .toServer ? self.client : self.server
    }

    /// The end that bytes of a direction go to.
    func receiver(_ direction: FaultProxy.Direction) -> RawSocket {
        direction == .toServer ? self.server : self.client
    }

    /// Sends bytes in one direction and waits for them at the other end.
    func exchange(_ bytes: [UInt8], _ direction: FaultProxy.Direction) throws {
        try self.sender(direction).send(bytes)
        #expect(try self.receiver(direction).read(bytes.count) == bytes)
    }
}

extension FaultProxy.Direction {
    /// The other one.
    var opposite: Self { self == .toServer ? .toClient : .toServer }
}

/// Runs a test with a proxy and stops it.
func withProxy(
    _ faults: [FaultProxy.Fault] = [], host: String = "127.0.0.1",
    _ change: (inout FaultProxy.Configuration) -> Void = { _ in }, _ body: (ProxyFixture) throws -> Void
) throws {
    let fixture = try ProxyFixture(faults, host: host, change)
    defer { fixture.proxy.stop() }
    try body(fixture)
}

/// Sends all bytes and the end of the stream, from a thread of its own.
func sendAll(_ bytes: [UInt8], to descriptor: CInt) {
    var start = 0
    while start < bytes.count {
        let count = bytes[start...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        guard count > 0 else { return }
        start += count
    }
    shutdown(descriptor, Int32(SHUT_WR))
}
