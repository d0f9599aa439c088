// The thread on which all servers of the process run: libwebsockets' loop with one set of sockets, as in the client.
// It owns listening sockets, connections and deadlines.

import CLibwebsocketsShim
import HTTPProtocol
import LibwebsocketsTransport
import PlatformC
import StreamTransport
import Synchronization

/// A service thread of servers.
///
/// It starts when it is made and never ends; without connections it sleeps. Everything but `post` belongs to it.
/// - Safety: the stored properties other than `mailbox` are touched on the thread only, which is started last.
final class ServerThread: @unchecked Sendable {
    private static let current = LockedValue<ServerThread?>(nil)

    /// Returns the process's thread.
    ///
    /// One that could not start is made again: what was missing may be there.
    static func shared() -> ServerThread {
        Self.current.withLock { current in
            if let thread = current, !thread.hasFailed.load(ordering: .relaxed) { return thread }
            let thread = ServerThread()
            current = thread
            return thread
        }
    }

    /// A listening socket.
    private struct Listener {
        let core: HTTPServerCore
        let descriptor: CInt
        /// The time at which connections are accepted again that no descriptor was left for.
        var pausedUntil: Moment?
    }

    /// A server that stops.
    private struct Stop {
        let core: HTTPServerCore
        var deadline: Moment
        var continuations: [CheckedContinuation<Void, Never>]
        var isOver = false
    }

    let scratch = ServerScratch()
    private let mailbox = ServerMailbox()
    private let hasFailed = Atomic(false)
    private(set) var pointer: OpaquePointer?
    private var connections: [ConnectionID: ServerConnection] = [:]
    private var listeners: [ConnectionID: Listener] = [:]
    private var stops: [ObjectIdentifier: Stop] = [:]
    private var refusedCount = 0
    private var lastID: UInt = 0
    private var deadlines = DeadlineQueue()
    private var timerDeadline: Moment?
    private var isTimerLate = false
    /// Indicates whether an event of the current round was handled.
    private var isInRound = false
    private var date = (second: -1, text: "")

    private init() {
        if !SystemThread.startDetached({ self.run() }) { self.fail() }
    }

    /// Queues a command; any thread may call it.
    ///
    /// False when there is no thread.
    @discardableResult
    func post(_ command: ServerCommand) -> Bool { self.mailbox.post(command) }

    // MARK: The loop

    private func run() {
        let count = Int(CLWS_SERVICE_DESCRIPTOR_COUNT) + DescriptorLimit.reserve
        if DescriptorLimit.hasRoom(for: count) {
            self.pointer = clws_service_create(serverEventArrived, Unmanaged.passUnretained(self).toOpaque())
        }
        guard let pointer = self.pointer else { return self.fail() }
        self.mailbox.attach(pointer)
        clws_service_run(pointer)
    }

    private func fail() {
        self.hasFailed.store(true, ordering: .relaxed)
        for command in self.mailbox.fail() {
            switch command {
            case .listen(_, _, let continuation): continuation.resume(returning: false)
            case .stop(_, _, let continuation): continuation.resume()
            case .flush, .resumeReading, .abort: break
            }
        }
    }

    fileprivate func handle(_ event: clws_event, token: UInt64, readiness: CUnsignedInt) {
        if event != .roundEnded, !self.isInRound {
            self.isInRound = true
            self.mailbox.roundBegan()
        }
        switch event {
        case .woken:
            break
        case .timerFired:
            self.timerFired()
        case .socketReady:
            let id = ConnectionID(rawValue: UInt(token))
            if let connection = self.connections[id] {
                connection.socketReady(
                    isReadable: readiness & CUnsignedInt(CLWS_READABLE) != 0,
                    isWritable: readiness & CUnsignedInt(CLWS_WRITABLE) != 0)
            } else if self.listeners[id] != nil {
                self.acceptConnections(of: id)
            }
        case .roundEnded:
            self.isInRound = false
            self.performCommands()
            self.endStops()
            self.setTimer()
        }
    }

    /// The number of times that commands are taken before the sockets come first again.
    private static let takeLimit = 8

    private func performCommands() {
        for _ in 0..<Self.takeLimit {
            let commands = self.mailbox.take()
            guard !commands.isEmpty else { return }
            for command in commands { self.perform(command) }
        }
        self.mailbox.postpone()
    }

    private func perform(_ command: ServerCommand) {
        switch command {
        case .listen(let core, let descriptor, let continuation):
            continuation.resume(returning: self.listen(core, descriptor))
        case .flush(let exchange):
            self.connections[exchange.connection]?.outputPosted(by: exchange)
        case .resumeReading(let exchange):
            self.connections[exchange.connection]?.inboxHasRoom(of: exchange)
        case .abort(let exchange):
            self.connections[exchange.connection]?.abort(exchange)
        case .stop(let core, let deadline, let continuation):
            self.stop(core, by: deadline, continuation)
        }
    }

    // MARK: Listening sockets

    private func makeID() -> ConnectionID {
        self.lastID += 1
        return ConnectionID(rawValue: self.lastID)
    }

    private func listen(_ core: HTTPServerCore, _ descriptor: CInt) -> Bool {
        let id = self.makeID()
        guard self.watch(descriptor, of: id, from: 0, to: CUnsignedInt(CLWS_READABLE)) else { return false }
        self.listeners[id] = Listener(core: core, descriptor: descriptor)
        return true
    }

    /// The most connections that one event accepts, so that those that are open are served as well.
    private static let acceptLimit = 64
    /// The time without accepting after the system had no descriptor or memory for a connection.
    private static let shortagePause = Duration.milliseconds(200)
    /// The most connections above a server's limit that are answered with 503; those above it are closed at once.
    private static let refusalLimit = 256

    private func acceptConnections(of id: ConnectionID) {
        guard let listener = self.listeners[id] else { return }
        var address = [CChar](repeating: 0, count: Int(CLWS_ADDRESS_LIMIT) + 1)
        for _ in 0..<Self.acceptLimit {
            let descriptor = clws_accept(listener.descriptor, &address)
            switch -descriptor {
            case EAGAIN:
                return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                // The listening socket stays ready, and would keep the loop busy.
                _ = self.watch(listener.descriptor, of: id, from: CUnsignedInt(CLWS_READABLE), to: 0)
                self.listeners[id]?.pausedUntil = .now + Self.shortagePause
                return
            case 1...:
                // The error is that of a connection that has ended before it was accepted.
                continue
            default:
                let end = address.firstIndex(of: 0) ?? address.endIndex
                let text = String(decoding: address[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
                // A socket for both families has an IPv4 client by its mapped address (RFC 4291 section 2.5.5.2).
                let isMapped = text.hasPrefix("::ffff:") && text.utf8.contains(UInt8(ascii: "."))
                self.add(descriptor, from: isMapped ? String(text.dropFirst(7)) : text, to: listener.core)
            }
        }
    }

    private func add(_ descriptor: CInt, from address: String, to core: HTTPServerCore) {
        let isRefused = core.connectionCount.withLock { $0 } >= core.configuration.limits.connectionCount
        guard !isRefused || self.refusedCount < Self.refusalLimit else {
            return clws_socket_close(descriptor, true)
        }
        var tls: OpaquePointer?
        if let context = core.tlsContext {
            tls = clws_tls_create_for_client(context.pointer)
            guard tls != nil else { return clws_socket_close(descriptor, true) }
        }
        if isRefused {
            self.refusedCount += 1
        } else {
            core.connectionCount.withLock { $0 += 1 }
        }
        let connection = ServerConnection(
            id: self.makeID(), core: core, thread: self, descriptor: descriptor, remoteAddress: address, tls: tls,
            isRefused: isRefused)
        self.connections[connection.id] = connection
        connection.start()
    }

    /// Changes the events that are awaited on a socket; false when the system has no memory.
    func watch(
        _ descriptor: CInt, of id: ConnectionID, from before: CUnsignedInt, to after: CUnsignedInt
    ) -> Bool {
        guard let pointer = self.pointer else { return false }
        return clws_service_watch(pointer, descriptor, UInt64(id.rawValue), before, after)
    }

    /// Removes a connection that has closed its socket.
    func remove(_ connection: ServerConnection) {
        guard self.connections.removeValue(forKey: connection.id) != nil else { return }
        self.deadlines.remove(connection.id)
        if connection.isRefused {
            self.refusedCount -= 1
        } else {
            connection.core.connectionCount.withLock { $0 -= 1 }
        }
    }

    // MARK: Stopping

    /// Returns whether a server accepts no further requests.
    func isStopping(_ core: HTTPServerCore) -> Bool { self.stops[ObjectIdentifier(core)] != nil }

    private func stop(
        _ core: HTTPServerCore, by deadline: Moment, _ continuation: CheckedContinuation<Void, Never>
    ) {
        for (id, listener) in self.listeners where listener.core === core {
            let interest = listener.pausedUntil == nil ? CUnsignedInt(CLWS_READABLE) : 0
            _ = self.watch(listener.descriptor, of: id, from: interest, to: 0)
            clws_socket_close(listener.descriptor, false)
            self.listeners.removeValue(forKey: id)
        }
        var stop = self.stops[ObjectIdentifier(core)] ?? Stop(core: core, deadline: deadline, continuations: [])
        stop.deadline = min(stop.deadline, deadline)
        stop.continuations.append(continuation)
        self.stops[ObjectIdentifier(core)] = stop
        for connection in self.connections.values where connection.core === core { connection.serverStops() }
    }

    /// Closes what a grace period has left, and resumes the callers whose server has no connections.
    private func endStops() {
        guard !self.stops.isEmpty else { return }
        let now = Moment.now
        for (key, stop) in self.stops {
            if !stop.isOver, stop.deadline <= now {
                self.stops[key]?.isOver = true
                for connection in self.connections.values where connection.core === stop.core {
                    connection.graceEnded()
                }
            }
            guard !self.connections.values.contains(where: { $0.core === stop.core }) else { continue }
            self.stops.removeValue(forKey: key)
            for continuation in stop.continuations { continuation.resume() }
        }
    }

    // MARK: Time

    /// Has a connection look at its deadline when it is due; a later one than the scheduled one is ignored.
    func expect(_ deadline: Moment, of connection: ServerConnection) {
        self.deadlines.expect(deadline, for: connection.id)
    }

    private var nextDeadline: Moment? {
        let times =
            [self.deadlines.earliest] + self.listeners.values.map(\.pausedUntil)
            + self.stops.values.map { $0.isOver ? nil : $0.deadline }
        return times.compactMap { $0 }.min()
    }

    private func timerFired() {
        let now = Moment.now
        let isLate = self.timerDeadline.map { now - $0 > Moment.latenessOfStop } ?? false
        // A process that was stopped: what arrived meanwhile is read first. A thread that is late again is busy.
        let wasStopped = isLate && !self.isTimerLate
        self.isTimerLate = isLate
        self.timerDeadline = nil
        for id in self.deadlines.takeDue(at: now) {
            guard let connection = self.connections[id] else { continue }
            connection.scheduledDeadline = nil
            if wasStopped {
                connection.schedule(now + Self.timeToReadFirst)
            } else {
                connection.deadlineFired(at: now)
            }
        }
        for (id, listener) in self.listeners {
            guard let time = listener.pausedUntil, time <= now else { continue }
            self.listeners[id]?.pausedUntil = nil
            _ = self.watch(listener.descriptor, of: id, from: 0, to: CUnsignedInt(CLWS_READABLE))
        }
    }

    /// The time for which the sockets are read behind a stop before deadlines are judged: some rounds of the loop.
    private static let timeToReadFirst = Duration.milliseconds(250)

    private func setTimer() {
        let earliest = self.nextDeadline
        guard earliest != self.timerDeadline, let pointer = self.pointer else { return }
        self.timerDeadline = earliest
        guard let earliest else { return clws_service_set_timer(pointer, 0) }
        // A year stands for any longer time; rounded up, as a timer that fires too early is set again.
        let nanoseconds = min(earliest.nanoseconds(since: .now), 31_536_000 * 1_000_000_000)
        clws_service_set_timer(pointer, max(1, (nanoseconds + 999) / 1_000))
    }

    /// The value of `Date` for a response that is made now.
    var dateText: String {
        let second = Int(time(nil))
        if second != self.date.second { self.date = (second, HTTPDate.text(secondsSince1970: max(0, second))) }
        return self.date.text
    }
}

/// The only function that the shim calls, always on the service thread.
private func serverEventArrived(
    owner: UnsafeMutableRawPointer?, event: clws_event, token: UInt64, readiness: CUnsignedInt
) {
    guard let owner else { return }
    Unmanaged<ServerThread>.fromOpaque(owner).takeUnretainedValue().handle(event, token: token, readiness: readiness)
}
