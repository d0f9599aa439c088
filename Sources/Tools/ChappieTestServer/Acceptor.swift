// The listening socket, the thread that accepts, and the table of connections.
//
// Owned by the server. The table is shared with connection threads; one lock guards it.
import PlatformC

/// Accepts connections and gives each a thread.
final class Acceptor: Sendable {
    /// The work of a server on its connections.
    struct Service: Sendable {
        /// Returns the number of a connection that was accepted; called on the accept thread.
        var begin: @Sendable () -> Int
        /// Serves a connection to its end; called on the connection's thread.
        var serve: @Sendable (ByteStream, SocketHandle, Int) -> Void
    }

    /// The limits of a server that strangers may reach.
    struct Limits: Sendable {
        /// The number of connections at a time.
        var connections: Int
        /// The number of them from one address.
        var connectionsPerAddress: Int
        /// The time after which a connection ends that its thread does not give another time.
        var lifetime: Duration
    }

    private struct State {
        var isStopping = false
        var nextConnection = 0
        var sockets: [Int: SocketHandle] = [:]
        /// The addresses of the connections, where there are limits.
        var addresses: [Int: String] = [:]
        var threads: [Int: SystemThread] = [:]
        /// Connections whose threads are about to end and can be joined.
        var ended: [Int] = []
        var acceptThread: SystemThread?
    }

    private let state = Monitor(State())
    private let listener: CInt
    private let wake: WakePipe
    private let service: Service
    private let limits: Limits?

    /// The port that is listened on.
    let port: Int

    /// Listens on a numeric address and starts to accept.
    init(
        address: String = "127.0.0.1", port: UInt16, limits: Limits? = nil, service: Service
    ) throws(ChappieTestServer.StartError) {
        self.service = service
        self.limits = limits
        guard let wake = WakePipe() else { throw .cannotListen(code: errno) }
        self.wake = wake
        do throws(ListeningSocket.Failure) {
            (self.listener, self.port) = try ListeningSocket.open(address: address, port: port)
        } catch {
            wake.close()
            throw .cannotListen(code: error.code)
        }
        guard let thread = SystemThread.startSmall({ [self] in self.acceptConnections() }) else {
            self.closeDescriptors()
            throw .noThread
        }
        self.state.withLock { $0.acceptThread = thread }
    }

    private func closeDescriptors() {
        close(self.listener)
        self.wake.close()
    }

    // MARK: Accepting

    private func acceptConnections() {
        while let isReady = self.waitForConnection() {
            self.endOverdueConnections()
            guard isReady else { continue }
            let descriptor = accept(self.listener, nil, nil)
            if descriptor >= 0 {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                self.startConnection(descriptor)
            }
            self.joinEndedThreads()
        }
    }

    /// The time between two looks at the ages of connections, in milliseconds.
    private static let lookMilliseconds: CInt = 500

    /// Waits for a connection; returns false when it is time to look at their ages, and nil when the server stops.
    private func waitForConnection() -> Bool? {
        var entries = [
            pollfd(fd: self.listener, events: Int16(POLLIN), revents: 0),
            pollfd(fd: self.wake.reader, events: Int16(POLLIN), revents: 0),
        ]
        let timeout = self.limits == nil ? -1 : Self.lookMilliseconds
        var count = poll(&entries, nfds_t(entries.count), timeout)
        while count < 0 && errno == EINTR { count = poll(&entries, nfds_t(entries.count), timeout) }
        return entries[1].revents == 0 ? count != 0 : nil
    }

    /// Ends the connections whose time is over, where there are limits.
    private func endOverdueConnections() {
        guard self.limits != nil else { return }
        let now = ContinuousClock.now
        for socket in self.state.withLock({ Array($0.sockets.values) }) where socket.isOverdue(at: now) {
            socket.interrupt()
        }
    }

    /// Returns whether another connection from an address is within the limits.
    private static func admits(_ state: State, _ address: String, _ limits: Limits) -> Bool {
        state.addresses.count < limits.connections
            && state.addresses.values.count { $0 == address } < limits.connectionsPerAddress
    }

    private func startConnection(_ descriptor: CInt) {
        let handle = SocketHandle(descriptor)
        let address = self.limits == nil ? "" : ListeningSocket.peerAddress(of: descriptor)
        if let limits = self.limits { handle.allow(limits.lifetime) }
        let key = self.state.withLock { state -> Int? in
            guard !state.isStopping else { return nil }
            if let limits = self.limits {
                guard Self.admits(state, address, limits) else { return nil }
                state.addresses[state.nextConnection + 1] = address
            }
            state.nextConnection += 1
            state.sockets[state.nextConnection] = handle
            return state.nextConnection
        }
        guard let key else { return handle.closeDescriptor() }
        let number = self.service.begin()
        let thread = SystemThread.startSmall { [self] in
            let stream = ByteStream(handle: handle, descriptor: descriptor)
            self.service.serve(stream, handle, number)
            handle.closeDescriptor()
            self.state.update { state in
                state.sockets[key] = nil
                state.addresses[key] = nil
                state.ended.append(key)
            }
        }
        guard let thread else {
            handle.closeDescriptor()
            return self.state.update { state in
                state.sockets[key] = nil
                state.addresses[key] = nil
            }
        }
        self.state.update { $0.threads[key] = thread }
    }

    private func joinEndedThreads() {
        let threads = self.state.withLock { state -> [SystemThread] in
            let ended = state.ended.filter { state.threads[$0] != nil }
            state.ended.removeAll { state.threads[$0] != nil }
            return ended.compactMap { state.threads.removeValue(forKey: $0) }
        }
        for thread in threads { thread.join() }
    }

    // MARK: Stopping

    /// Ends every thread and closes every socket; later calls have no effect.
    func stop() {
        let acceptThread = self.state.withLock { state -> SystemThread? in
            state.isStopping = true
            defer { state.acceptThread = nil }
            return state.acceptThread
        }
        guard let acceptThread else { return }
        self.wake.wake()
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
