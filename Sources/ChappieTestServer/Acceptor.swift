// The listening socket, the thread that accepts, and the table of connections.
//
// Owned by the server. The table is shared with connection threads; one lock guards it.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Accepts connections and gives each a thread.
final class Acceptor: Sendable {
    private struct State {
        var isStopping = false
        var nextConnection = 0
        var sockets: [Int: SocketHandle] = [:]
        var threads: [Int: ServerThread] = [:]
        /// Connections whose threads are about to end and can be joined.
        var ended: [Int] = []
        var acceptThread: ServerThread?
    }

    private let state = Monitor(State())
    private let listener: CInt
    private let wakeReader: CInt
    private let wakeWriter: CInt
    private let parts: ServerParts

    /// The port that is listened on.
    let port: Int

    /// Listens on 127.0.0.1 and starts to accept.
    init(port: UInt16, parts: ServerParts) throws(ChappieTestServer.StartError) {
        self.parts = parts
        var wake: [CInt] = [-1, -1]
        guard pipe(&wake) == 0 else { throw .cannotListen(code: errno) }
        (self.wakeReader, self.wakeWriter) = (wake[0], wake[1])
        do throws(ChappieTestServer.StartError) {
            (self.listener, self.port) = try Self.listen(port: port)
        } catch {
            close(wake[0])
            close(wake[1])
            throw error
        }
        guard let thread = ServerThread.start({ [self] in self.acceptConnections() }) else {
            self.closeDescriptors()
            throw .noThread
        }
        self.state.withLock { $0.acceptThread = thread }
    }

    private func closeDescriptors() {
        close(self.listener)
        close(self.wakeReader)
        close(self.wakeWriter)
    }

    private static func listen(port: UInt16) throws(ChappieTestServer.StartError) -> (CInt, Int) {
        #if canImport(Darwin)
            let descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        #endif
        guard descriptor >= 0 else { throw .cannotListen(code: errno) }
        var on: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> CInt in
                guard bind(descriptor, generic, size) == 0 else { return -1 }
                #if canImport(Darwin)
                    guard Darwin.listen(descriptor, 4096) == 0 else { return -1 }
                #else
                    guard Glibc.listen(descriptor, 4096) == 0 else { return -1 }
                #endif
                return getsockname(descriptor, generic, &size)
            }
        }
        guard result == 0 else {
            let code = errno
            close(descriptor)
            throw .cannotListen(code: code)
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }

    // MARK: Accepting

    private func acceptConnections() {
        while self.waitForConnection() {
            let descriptor = accept(self.listener, nil, nil)
            if descriptor >= 0 {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                self.startConnection(descriptor)
            }
            self.joinEndedThreads()
        }
    }

    /// Waits for a connection; returns false when the server stops.
    private func waitForConnection() -> Bool {
        var entries = [
            pollfd(fd: self.listener, events: Int16(POLLIN), revents: 0),
            pollfd(fd: self.wakeReader, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&entries, nfds_t(entries.count), -1) < 0 && errno == EINTR {}
        return entries[1].revents == 0
    }

    private func startConnection(_ descriptor: CInt) {
        let handle = SocketHandle(descriptor)
        let key = self.state.withLock { state -> Int? in
            guard !state.isStopping else { return nil }
            state.nextConnection += 1
            state.sockets[state.nextConnection] = handle
            return state.nextConnection
        }
        guard let key else { return handle.closeDescriptor() }
        let number = self.parts.log.beginConnection()
        let thread = ServerThread.start { [self] in
            let stream = ByteStream(handle: handle, descriptor: descriptor)
            ConnectionThread(parts: self.parts, stream: stream, connection: number).run()
            handle.closeDescriptor()
            self.state.update { state in
                state.sockets[key] = nil
                state.ended.append(key)
            }
        }
        guard let thread else {
            handle.closeDescriptor()
            return self.state.update { $0.sockets[key] = nil }
        }
        self.state.update { $0.threads[key] = thread }
    }

    private func joinEndedThreads() {
        let threads = self.state.withLock { state -> [ServerThread] in
            let ended = state.ended.filter { state.threads[$0] != nil }
            state.ended.removeAll { state.threads[$0] != nil }
            return ended.compactMap { state.threads.removeValue(forKey: $0) }
        }
        for thread in threads { thread.join() }
    }

    // MARK: Stopping

    /// Ends every thread and closes every socket; later calls have no effect.
    func stop() {
        let acceptThread = self.state.withLock { state -> ServerThread? in
            state.isStopping = true
            defer { state.acceptThread = nil }
            return state.acceptThread
        }
        guard let acceptThread else { return }
        var byte: UInt8 = 0
        _ = write(self.wakeWriter, &byte, 1)
        acceptThread.join()
        self.closeDescriptors()
        let (sockets, threads) = self.state.withLock { state in
            (Array(state.sockets.values), Array(state.threads.values))
        }
        for socket in sockets { socket.interrupt() }
        for thread in threads { thread.join() }
        self.state.withLock { state in
            state.threads = [:]
            state.ended = []
        }
    }
}
