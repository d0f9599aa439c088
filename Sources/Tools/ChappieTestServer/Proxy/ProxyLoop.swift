// The loop of a fault proxy: waits for sockets and times, accepts, and lets connections advance.
//
// Owned by the proxy's thread, together with every connection.
import PlatformC

/// Serves all connections of a proxy on one thread.
struct ProxyLoop {
    /// The pause of accepting when the process has no descriptor left.
    private static let exhaustionPause = Duration.milliseconds(50)
    /// The number of connections that are accepted before the existing ones get their turn.
    private static let acceptsPerTurn = 64

    private let configuration: FaultProxy.Configuration
    private let listener: ProxyListener
    private let mailbox: ProxyMailbox
    private let log: ProxyLog
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    /// The connections, in the order of their numbers.
    private var connections: [ProxyConnection] = []
    private var entries: [pollfd] = []
    private var isLookingUp = false
    private var acceptsAgain: Duration?

    /// Creates a loop for a listening socket.
    init(
        configuration: FaultProxy.Configuration, listener: ProxyListener, mailbox: ProxyMailbox, log: ProxyLog
    ) {
        self.configuration = configuration
        self.listener = listener
        self.mailbox = mailbox
        self.log = log
        self.start = self.clock.now
    }

    private var now: Duration { self.clock.now - self.start }

    /// Relays until the mailbox orders the end, then closes all sockets.
    mutating func run() {
        while true {
            self.wait()
            let messages = self.mailbox.take()
            if messages.isStopping { break }
            let now = self.now
            for (index, connection) in self.connections.enumerated() {
                let readiness = ProxyReadiness(
                    client: self.entries[2 + 2 * index].revents, server: self.entries[3 + 2 * index].revents)
                connection.advance(readiness, now: now)
            }
            if let addresses = messages.addresses { self.lookUpEnded(addresses, now: now) }
            self.connections.removeAll(where: \.isEnded)
            if self.entries[1].revents != 0 { self.acceptConnections(now: now) }
            self.lookUp(now: now)
        }
        self.listener.closeDescriptor()
        for connection in self.connections { connection.close(.stopped) }
        self.connections = []
    }

    // MARK: Waiting

    private mutating func wait() {
        let now = self.now
        if let time = self.acceptsAgain, time <= now { self.acceptsAgain = nil }
        var deadline = self.acceptsAgain
        self.entries.removeAll(keepingCapacity: true)
        self.entries.append(pollfd(fd: self.mailbox.reader, events: Int16(POLLIN), revents: 0))
        let listener = self.acceptsAgain == nil ? self.listener.descriptor : -1
        self.entries.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
        for connection in self.connections {
            let interest = connection.interest
            self.entries.append(Self.entry(connection.client, interest.client))
            self.entries.append(Self.entry(connection.server, interest.server))
            if let time = interest.deadline { deadline = min(deadline ?? time, time) }
        }
        let timeout = deadline.map { Self.milliseconds($0 - now) } ?? -1
        while poll(&self.entries, nfds_t(self.entries.count), timeout) < 0 && errno == EINTR {}
    }

    private static func entry(_ socket: ProxySocket?, _ events: Int16?) -> pollfd {
        guard let socket, let events else { return pollfd(fd: -1, events: 0, revents: 0) }
        return pollfd(fd: socket.descriptor, events: events, revents: 0)
    }

    /// Returns milliseconds, rounded up: a shorter wait would be repeated at once.
    private static func milliseconds(_ duration: Duration) -> CInt {
        duration <= .zero ? 0 : CInt(min(86_400_000, (duration.inSeconds * 1000).rounded(.up)))
    }

    // MARK: Accepting

    private mutating func acceptConnections(now: Duration) {
        for turn in 0..<Self.acceptsPerTurn {
            // At the limit, only the first attempt of a turn knows which peers have left.
            if turn > 0, self.isFull { return }
            switch self.listener.acceptConnection() {
            case .none: return
            case .exhausted:
                self.acceptsAgain = now + Self.exhaustionPause
                return
            case .connection(let descriptor): self.begin(descriptor, now: now)
            }
        }
    }

    private mutating func begin(_ descriptor: CInt, now: Duration) {
        let number = self.log.begin()
        guard self.makesPlace() else {
            ProxySocket(descriptor).reset()
            return self.log.end(number, .tooMany)
        }
        let faults = self.configuration.plan.faults.filter { $0.applies(toConnection: number) }
        let connection = ProxyConnection(descriptor, number: number, faults: faults, log: self.log, now: now)
        if !connection.isEnded { self.connections.append(connection) }
    }

    private var isFull: Bool { self.connections.count >= self.configuration.maximumConnectionCount }

    /// Returns whether another connection may be served; at the limit, the oldest one without peers is closed.
    private mutating func makesPlace() -> Bool {
        if !self.isFull { return true }
        guard let index = self.connections.firstIndex(where: \.isAbandoned) else { return false }
        self.connections.remove(at: index).close(.replaced)
        return true
    }

    // MARK: Looking up

    /// Passes addresses to the connections that need them, or begins the look-up.
    private mutating func lookUp(now: Duration) {
        guard !self.isLookingUp, self.connections.contains(where: \.needsAddresses) else { return }
        if let addresses = ProxyAddress.numeric(self.configuration.upstream) {
            return self.lookUpEnded(addresses, now: now)
        }
        self.isLookingUp = self.mailbox.lookUp(self.configuration.upstream)
        if !self.isLookingUp { self.lookUpEnded([], now: now) }
    }

    private mutating func lookUpEnded(_ addresses: [ProxyAddress], now: Duration) {
        self.isLookingUp = false
        for connection in self.connections { connection.resolved(addresses, now: now) }
        self.connections.removeAll(where: \.isEnded)
    }
}
