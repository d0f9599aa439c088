import Dispatch
import Foundation
import StreamTransport
import Testing

/// A listening socket on the loopback interface, without a protocol: the test writes and reads every byte.
///
/// Blocking calls run on queues of their own, so that no task of a test ever blocks.
final class RawServer: Sendable {
    /// A system call failed.
    struct Failure: Error {
        let call: String
        let code: Int32
    }

    /// A client has not connected in time.
    struct NoConnection: Error, CustomStringConvertible {
        var description: String { "No client has connected to the raw server within \(RawServer.patience)." }
    }

    /// The time after which a wait for a client fails its test, which would otherwise hang as long as its suite may run.
    ///
    /// No test that works waits nearly as long, on a busy machine either.
    static let patience = Duration.seconds(60)

    let port: UInt16
    private let descriptor: CInt
    private let queue = DispatchQueue(label: "raw server")

    /// Listens; `receiveBufferByteCount` bounds what the kernel takes from a client that is not read from.
    ///
    /// Port 0 is any port that is free.
    init(
        receiveBufferByteCount: CInt? = nil, address: LoopbackAddress = .first, port: UInt16 = 0, backlog: CInt = 4096
    ) throws {
        let descriptor = socket(address.family, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        self.descriptor = descriptor
        if var size = receiveBufferByteCount {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        let isListening = address.withSocketAddress(port: port) { pointer, length in
            bind(descriptor, pointer, length) == 0 && listen(descriptor, backlog) == 0
        }
        guard isListening else { throw Failure(call: "listen", code: errno) }
        var bound = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isNamed = withUnsafeMutableBytes(of: &bound) { bytes in
            guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            return getsockname(descriptor, pointer, &length) == 0
        }
        guard isNamed else { throw Failure(call: "getsockname", code: errno) }
        // The port is in the same place for both families.
        self.port = UInt16(bigEndian: bound.sin6_port)
    }

    deinit {
        close(self.descriptor)
    }

    /// The endpoint for a transport.
    var endpoint: TransportEndpoint {
        TransportEndpoint(isSecure: false, host: "127.0.0.1", port: self.port, target: "/v1/responses")
    }

    /// Makes a silent connection, so that `accept()` returns; returns false when that fails.
    static func connectAndClose(to port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return Glibc.connect(descriptor, pointer, socklen_t(bytes.count)) == 0
        }
    }

    /// Indicates whether a connection waits to be accepted.
    var hasConnection: Bool {
        var waiting = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }

    /// The next connection.
    ///
    /// `patience` is the time to wait for it, and for anything that the client sends on it; nil is for a server that
    /// runs beside a test.
    func accept(within patience: Duration? = RawServer.patience) async throws -> RawPeer {
        let (isReady, descriptor, code) = await self.queue.blocking { () -> (Bool, CInt, Int32) in
            guard Self.awaitInput(of: self.descriptor, within: patience) else { return (false, -1, 0) }
            let descriptor = Glibc.accept(self.descriptor, nil, nil)
            return (true, descriptor, errno)
        }
        guard isReady else { throw NoConnection() }
        guard descriptor >= 0 else { throw Failure(call: "accept", code: code) }
        return RawPeer(descriptor: descriptor, patience: patience)
    }

    /// Blocks until a socket has a connection, bytes or an end; returns false when it has none within the time.
    static func awaitInput(of descriptor: CInt, within limit: Duration?) -> Bool {
        let milliseconds = limit.map { CInt($0 / .milliseconds(1)) } ?? -1
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = poll(&waiting, 1, milliseconds)
            if count >= 0 || errno != EINTR { return count != 0 }
        }
    }
}

/// An address of the loopback interface.
enum LoopbackAddress: String, CaseIterable, Sendable {
    case first = "127.0.0.1"
    case second = "127.0.0.2"
    case third = "127.0.0.3"
    case version6 = "::1"

    var family: CInt { self == .version6 ? AF_INET6 : AF_INET }

    /// Lends the address with a port, as the system wants it.
    func withSocketAddress<Result>(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var version4 = sockaddr_in()
        version4.sin_family = sa_family_t(AF_INET)
        version4.sin_port = port.bigEndian
        var version6 = sockaddr_in6()
        version6.sin6_family = sa_family_t(AF_INET6)
        version6.sin6_port = port.bigEndian
        if self == .version6 {
            inet_pton(AF_INET6, self.rawValue, &version6.sin6_addr)
            return withUnsafePointer(to: &version6) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
        inet_pton(AF_INET, self.rawValue, &version4.sin_addr)
        return withUnsafePointer(to: &version4) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}

extension DispatchQueue {
    /// Runs a call that blocks.
    ///
    /// The result goes through a lock, because the thread sanitizer does not see what a continuation orders.
    func blocking<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        let result = LockedValue<Result?>(nil)
        await withCheckedContinuation { continuation in
            self.async {
                let value = body()
                result.withLock { $0 = value }
                continuation.resume()
            }
        }
        guard let value = result.withLock({ $0 }) else { preconditionFailure("nothing was run") }
        return value
    }
}

/// The server's end of one connection.
final class RawPeer: Sendable {
    /// The result of a read.
    enum Received: Equatable, Sendable {
        case bytes([UInt8])
        /// The client has closed its end.
        case end
        /// The connection is gone: `ECONNRESET`, for one.
        case failed(Int32)
    }

    private let descriptor: CInt
    /// The time after which a read without a result fails the test; nil for none.
    private let patience: Duration?
    private let queue = DispatchQueue(label: "raw peer")
    /// The bytes that were read beyond the requested ones.
    private let rest = LockedValue<[UInt8]>([])
    private let isOpen = LockedValue(true)

    init(descriptor: CInt, patience: Duration? = RawServer.patience) {
        self.descriptor = descriptor
        self.patience = patience
        var isOn: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit {
        self.close()
    }

    /// Returns the next bytes as they arrive.
    func receive() async -> Received {
        await self.receiveTimed().0
    }

    /// Returns the next bytes, with the time of their arrival.
    func receiveTimed() async -> (Received, ContinuousClock.Instant) {
        let (received, moment) = await self.queue.blocking { (self.receiveBlocking(), ContinuousClock.now) }
        if let patience, received == .failed(ETIMEDOUT) {
            Issue.record("The other end of a raw connection has neither sent a byte nor closed it within \(patience).")
        }
        return (received, moment)
    }

    /// Reads until the bytes end in `suffix`; what was read without it when the connection ends before.
    func read(until suffix: String) async -> String {
        let suffix = Array(suffix.utf8)
        var bytes: [UInt8] = []
        while !bytes.contains(suffix) {
            guard case .bytes(let more) = await self.receive() else { break }
            bytes += more
        }
        let end = bytes.end(of: suffix) ?? bytes.count
        self.rest.withLock { $0 = Array(bytes[end...]) + $0 }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// Reads that many bytes; fewer when the connection ends before.
    func read(count: Int) async -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, case .bytes(let more) = await self.receive() { bytes += more }
        let end = min(count, bytes.count)
        self.rest.withLock { $0 = Array(bytes[end...]) + $0 }
        return Array(bytes[..<end])
    }

    /// Reads to the end: the bytes, and how it ended.
    func readToEnd() async -> (bytes: [UInt8], end: Received) {
        var bytes: [UInt8] = []
        while true {
            let received = await self.receive()
            guard case .bytes(let more) = received else { return (bytes, received) }
            bytes += more
        }
    }

    /// Writes; for bytes that fit into the kernel's buffer.
    func write(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Writes what the kernel takes at once; returns its length.
    func writeAtOnce(_ bytes: ArraySlice<UInt8>) -> Int {
        let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
        return bytes.withUnsafeBytes { max(0, Glibc.send(self.descriptor, $0.baseAddress, $0.count, flags)) }
    }

    /// Writes text.
    func write(_ text: String) {
        self.write(Array(text.utf8))
    }

    /// Writes the letter x that often, on a thread of its own, for as long as the client takes to read it.
    func writeInBackground(byteCount: Int) -> Task<Void, Never> {
        Task {
            await DispatchQueue.global().blocking {
                let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000)
                for start in stride(from: 0, to: byteCount, by: piece.count) {
                    self.write(Array(piece[..<min(piece.count, byteCount - start)]))
                }
            }
        }
    }

    /// Returns the bytes that are available now; nil when there are none.
    func receivedSoFar() -> Received? {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(self.descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
        if count > 0 { return .bytes(Array(buffer[..<count])) }
        if count == 0 { return .end }
        return errno == EAGAIN ? nil : .failed(errno)
    }

    /// Ends the client's input, and continues reading.
    func endWriting() {
        shutdown(self.descriptor, CInt(SHUT_WR))
    }

    /// Closes with a FIN.
    func close() {
        let wasOpen = self.isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        shutdown(self.descriptor, CInt(SHUT_RDWR))
        let descriptor = self.descriptor
        self.queue.async { Glibc.close(descriptor) }
    }

    /// Closes with a RST.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        let wasOpen = self.isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { Glibc.close(self.descriptor) }
    }

    private func receiveBlocking() -> Received {
        let rest = self.rest.withLock { rest in
            defer { rest = [] }
            return rest
        }
        if !rest.isEmpty { return .bytes(rest) }
        guard RawServer.awaitInput(of: self.descriptor, within: self.patience) else { return .failed(ETIMEDOUT) }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(self.descriptor, &buffer, buffer.count, 0)
        if count > 0 { return .bytes(Array(buffer[..<count])) }
        return count == 0 ? .end : .failed(errno)
    }
}

extension [UInt8] {
    /// Bytes whose place can be told, for 251 is no power of two.
    static func counting(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = Array(0...250)
        while bytes.count < count { bytes += bytes }
        return Array(bytes[..<count])
    }

    /// Returns the end of the first occurrence of a pattern.
    func end(of pattern: [UInt8]) -> Int? {
        guard self.count >= pattern.count else { return nil }
        return (0...self.count - pattern.count).first { self[$0..<$0 + pattern.count].elementsEqual(pattern) }
            .map { $0 + pattern.count }
    }

    fileprivate func contains(_ pattern: [UInt8]) -> Bool { self.end(of: pattern) != nil }
}
