// A relay of one connection that writes down what the server says.
//
// Owned by its caller; its thread ends with the connection.
import Foundation
import StreamTransport

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Stands between one client and one server.
final class RecordingRelay: Sendable {
    private let recorded = LockedValue([UInt8]())
    private let ended = DispatchSemaphore(value: 0)

    /// The port that the client connects to.
    let port: Int

    /// Relays the first connection to a port.
    init(to serverPort: Int) throws(SystemSocket.Failure) {
        let (listener, port) = try SystemSocket.listen()
        self.port = port
        Thread { [self] in
            self.relay(listener, serverPort)
            close(listener)
            self.ended.signal()
        }.start()
    }

    /// Waits for the end of both halves and returns what the server sent.
    ///
    /// For a thread of its own.
    func finish() -> [UInt8] {
        self.ended.wait()
        return self.recorded.withLock { $0 }
    }

    private func relay(_ listener: CInt, _ serverPort: Int) {
        Self.wait(for: [listener])
        guard let client = SystemSocket.accept(listener) else { return }
        defer { close(client) }
        guard let server = try? SystemSocket.connect(port: serverPort) else { return }
        defer { close(server) }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var clientIsOpen = true
        while true {
            let ready = Self.wait(for: clientIsOpen ? [server, client] : [server])
            if ready.contains(client) {
                switch SystemSocket.receive(client, into: &buffer) {
                case .bytes(let count): Self.sendAll(server, buffer[..<count])
                case .nothing: break
                case .end:
                    // The server finishes what it has begun; all of it is wanted.
                    SystemSocket.shutDownWriting(server)
                    clientIsOpen = false
                }
            }
            guard ready.contains(server) else { continue }
            switch SystemSocket.receive(server, into: &buffer) {
            case .bytes(let count):
                self.recorded.withLock { $0 += buffer[..<count] }
                if clientIsOpen { Self.sendAll(client, buffer[..<count]) }
            case .nothing: break
            case .end: return
            }
        }
    }

    @discardableResult
    private static func wait(for descriptors: [CInt]) -> [CInt] {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while poll(&entries, nfds_t(entries.count), -1) < 0 && errno == EINTR {}
        return entries.filter { $0.revents != 0 }.map(\.fd)
    }

    private static func sendAll(_ descriptor: CInt, _ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while !rest.isEmpty, let count = SystemSocket.send(descriptor, rest) {
            if count == 0 {
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&entry, 1, -1)
            }
            rest = rest.dropFirst(count)
        }
    }
}
