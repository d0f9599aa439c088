// The server's sockets, by plain blocking calls with a deadline. They belong to the fuzzer's thread.

import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The time limit of any wait.
///
/// Only a hang takes so long.
let deadlineSeconds = 20

/// Listens on a port of its own.
struct ServerListener {
    private let descriptor: CInt
    let port: UInt16

    init() {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                require(bind(descriptor, address, length) == 0, "no port")
                require(listen(descriptor, 16) == 0, "no listener")
                require(getsockname(descriptor, address, &length) == 0, "no port")
            }
        }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    /// Accepts a connection; returns nil where the client has ended without one.
    func accept(unless hasEnded: () -> Bool) -> ServerSocket? {
        let deadline = ContinuousClock.now + .seconds(deadlineSeconds)
        while !ServerSocket.isReadable(self.descriptor, for: 20) {
            if hasEnded(), self.isQuiet { return nil }
            require(ContinuousClock.now < deadline, "nobody connects")
        }
        #if canImport(Glibc)
            let peer = uninterrupted { Glibc.accept(self.descriptor, nil, nil) }
        #else
            let peer = uninterrupted { Darwin.accept(self.descriptor, nil, nil) }
        #endif
        require(peer >= 0, "nobody is accepted")
        return ServerSocket(descriptor: peer)
    }

    func close() { _ = Foundation.close(self.descriptor) }

    /// Indicates whether no connection waits to be accepted.
    var isQuiet: Bool { !ServerSocket.isReadable(self.descriptor, for: 0) }
}

/// Repeats a call of the system that a signal has interrupted: libFuzzer's timer interrupts one every few seconds.
private func uninterrupted<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// One connection, as the server sees it.
struct ServerSocket {
    fileprivate let descriptor: CInt

    fileprivate init(descriptor: CInt) {
        self.descriptor = descriptor
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    fileprivate static func isReadable(_ descriptor: CInt, for milliseconds: CInt) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        #if canImport(Glibc)
            return uninterrupted { Glibc.poll(&poll, 1, milliseconds) } != 0
        #else
            return uninterrupted { Darwin.poll(&poll, 1, milliseconds) } != 0
        #endif
    }

    fileprivate static func wait(for descriptor: CInt, _ what: String) {
        require(self.isReadable(descriptor, for: CInt(deadlineSeconds * 1_000)), what)
    }

    /// Reads what has come; nil at the end, and when the connection is lost.
    private func read() -> [UInt8]? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4_096) { buffer in
            let count = uninterrupted { recv(self.descriptor, buffer.baseAddress, buffer.count, 0) }
            return count > 0 ? Array(buffer[..<count]) : nil
        }
    }

    /// Reads a whole request; nil when the client gives up before.
    func readRequest() -> ClientRequest? {
        var bytes: [UInt8] = []
        while true {
            if let request = ClientRequest(bytes) { return request }
            Self.wait(for: self.descriptor, "a request does not come")
            guard let more = self.read() else { return nil }
            bytes += more
        }
    }

    /// Writes and returns what was sent; bytes that a peer does not want are lost.
    func write(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                uninterrupted { send(self.descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return bytes.dropLast(rest.count)
    }

    /// Ends the sending half.
    func shutDown() { _ = shutdown(self.descriptor, CInt(SHUT_WR)) }

    /// Waits until the client has closed its socket.
    func waitForEnd() {
        repeat {
            Self.wait(for: self.descriptor, "the client does not close its socket")
        } while self.read() != nil
    }

    /// Closes with a reset.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close(self.descriptor)
    }
}

/// A request, as far as a server looks at it.
struct ClientRequest {
    let webSocketKey: String?
    let offersMessageCompression: Bool

    /// Nil while it is not whole.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let value = { (name: String) -> String? in
            lines.first { $0.lowercased().hasPrefix(name + ":") }
                .map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) }
        }
        let bodyByteCount = value("content-length").flatMap { Int($0) } ?? 0
        guard bytes.count - end.upperBound >= bodyByteCount else { return nil }
        self.webSocketKey = value("sec-websocket-key")
        self.offersMessageCompression = value("sec-websocket-extensions")?.contains("permessage-deflate") ?? false
    }
}
