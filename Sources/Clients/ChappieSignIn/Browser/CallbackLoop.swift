import PlatformC

/// The loop of the callback's listener: sockets in, pages out.
///
/// All of its state belongs to the listener's thread, except the mailbox.
struct CallbackLoop {
    /// The limits that keep strangers from blocking the listener.
    struct Limits: Sendable {
        /// The largest head of a request.
        var headByteCount = 8 << 10
        /// The largest number of connections; beyond it the oldest that does not wait for the end of the sign-in is
        /// closed.
        var connectionCount = 16
        /// The time limit for a head, and for an answer.
        var exchange: Duration = .seconds(10)
        /// The time limit for the browser to close after its answer.
        var closing: Duration = .seconds(1)
        /// The pause of accepting after the system had no descriptors.
        var acceptPause: Duration = .milliseconds(100)
    }

    /// One browser's connection.
    private struct Connection {
        enum State {
            case reading([UInt8])
            /// The answer is not known yet.
            case held
            case writing(ArraySlice<UInt8>)
            case closing
        }

        let socket: CallbackSocket
        var state: State
        /// The time at which it is closed; nil is never.
        var deadline: Duration?
        /// Indicates whether the browser has ended its half.
        var isHalfClosed = false

        /// The events that `poll` watches; errors are always reported.
        var events: Int16 {
            switch self.state {
            case .reading, .closing: Int16(POLLIN)
            case .held: self.isHalfClosed ? 0 : Int16(POLLIN)
            case .writing: Int16(POLLOUT)
            }
        }

        var isHeld: Bool {
            guard case .held = self.state else { return false }
            return true
        }
    }

    private let listener: CallbackSocket
    private let mailbox: CallbackMailbox
    private let limits: Limits
    private let report: @Sendable (CallbackOutcome) -> Void
    private var machine: CallbackStateMachine
    /// The connections, the oldest first.
    private var connections: [Connection] = []
    private var acceptsAgainAt: Duration?
    private var isFinishing = false
    private let start = ContinuousClock.now

    /// Creates a loop over a listening socket, which it closes at its end.
    init(
        listener: CallbackSocket, mailbox: CallbackMailbox, machine: CallbackStateMachine, limits: Limits,
        report: @escaping @Sendable (CallbackOutcome) -> Void
    ) {
        self.listener = listener
        self.mailbox = mailbox
        self.machine = machine
        self.limits = limits
        self.report = report
    }

    private var now: Duration { ContinuousClock.now - self.start }

    /// Serves until the mailbox orders the end; then every socket is closed.
    mutating func run() {
        while true {
            let orders = self.mailbox.orders
            if let page = orders.page { self.finish(page) }
            if orders.isStopping || self.isFinishing && self.connections.isEmpty { break }
            self.wait()
        }
        for connection in self.connections { connection.socket.close() }
        if !self.isFinishing { self.listener.close() }
    }

    /// Sends the page to the browsers that wait for the end, and accepts no others.
    private mutating func finish(_ page: CallbackPage) {
        guard !self.isFinishing else { return }
        self.isFinishing = true
        self.listener.close()
        // None is removed here, because the loop uses their indices.
        for index in self.connections.indices {
            switch self.connections[index].state {
            case .held: self.answer(index, page)
            case .reading: self.connections[index].deadline = .zero
            case .writing, .closing: break
            }
        }
    }

    // MARK: Waiting

    private mutating func wait() {
        let now = self.now
        if let time = self.acceptsAgainAt, time <= now { self.acceptsAgainAt = nil }
        let isAccepting = !self.isFinishing && self.acceptsAgainAt == nil
        var entries = [pollfd(fd: self.mailbox.wakeDescriptor, events: Int16(POLLIN), revents: 0)]
        // `poll` ignores a negative descriptor.
        entries.append(pollfd(fd: isAccepting ? self.listener.descriptor : -1, events: Int16(POLLIN), revents: 0))
        entries += self.connections.map { pollfd(fd: $0.socket.descriptor, events: $0.events, revents: 0) }
        let deadlines = self.connections.compactMap(\.deadline) + [self.acceptsAgainAt].compactMap(\.self)
        let count = unsafe poll(&entries, nfds_t(entries.count), Self.milliseconds(deadlines.min().map { $0 - now }))
        guard count >= 0 else { return }
        if entries[0].revents != 0 { self.mailbox.drain() }
        for (index, entry) in entries.dropFirst(2).enumerated() where entry.revents != 0 {
            self.step(index, entry.revents)
        }
        self.removeConnections(until: self.now)
        if entries[1].revents != 0, !self.isFinishing { self.accept() }
    }

    /// Returns milliseconds, rounded up; -1 is without limit.
    private static func milliseconds(_ duration: Duration?) -> CInt {
        guard let duration else { return -1 }
        return CInt(clamping: max(0, Int64(duration / .milliseconds(1)) + 1))
    }

    private mutating func removeConnections(until now: Duration) {
        let isOver = { (connection: Connection) in connection.deadline.map { $0 <= now } ?? false }
        for connection in self.connections where isOver(connection) { connection.socket.close() }
        self.connections.removeAll(where: isOver)
    }

    // MARK: Accepting

    private mutating func accept() {
        do throws(CallbackSocket.Failure) {
            while let socket = try self.listener.accept() { self.admit(socket) }
        } catch {
            self.acceptsAgainAt = self.now + self.limits.acceptPause
        }
    }

    private mutating func admit(_ socket: CallbackSocket) {
        if self.connections.count >= self.limits.connectionCount {
            guard let index = self.connections.firstIndex(where: { !$0.isHeld }) else { return socket.close() }
            self.connections.remove(at: index).socket.close()
        }
        self.connections.append(
            Connection(socket: socket, state: .reading([]), deadline: self.now + self.limits.exchange))
    }

    // MARK: One connection

    private mutating func step(_ index: Int, _ events: Int16) {
        switch self.connections[index].state {
        case .reading(let bytes): self.read(index, bytes)
        case .writing: self.write(index)
        case .held, .closing:
            var rest: [UInt8] = []
            let transfer = self.connections[index].socket.receive(into: &rest)
            let isGone = Int32(events) & (POLLERR | POLLHUP | POLLNVAL) != 0
            if transfer == .ended { self.connections[index].isHalfClosed = true }
            if isGone || transfer == .ended && !self.connections[index].isHeld {
                // A connection that is over is removed together with those whose time is over.
                self.connections[index].deadline = .zero
            }
        }
    }

    private mutating func read(_ index: Int, _ bytes: [UInt8]) {
        var bytes = bytes
        switch self.connections[index].socket.receive(into: &bytes) {
        case .blocked: return
        case .ended: self.connections[index].deadline = .zero
        case .bytes:
            switch CallbackRequest.read(bytes, limit: self.limits.headByteCount) {
            case .incomplete: self.connections[index].state = .reading(bytes)
            case .malformed(let statusCode): self.answer(index, .refused(statusCode: statusCode))
            case .complete(let request): self.perform(self.machine.received(request), index)
            }
        }
    }

    private mutating func perform(_ action: CallbackStateMachine.Action, _ index: Int) {
        switch action {
        case .answer(let page): self.answer(index, page)
        case .answerAndReport(let page, let outcome):
            // In this order, because the outcome must be available once the page is seen.
            self.report(outcome)
            self.answer(index, page)
            // The other instance needs the port, even when no task waits for the outcome.
            if outcome == .cancelled { self.finish(page) }
        case .holdAndReport(let outcome):
            self.connections[index].state = .held
            self.connections[index].deadline = nil
            self.report(outcome)
        }
    }

    private mutating func answer(_ index: Int, _ page: CallbackPage) {
        self.connections[index].state = .writing(page.response[...])
        self.connections[index].deadline = self.now + self.limits.exchange
        self.write(index)
    }

    private mutating func write(_ index: Int) {
        guard case .writing(var bytes) = self.connections[index].state else { return }
        switch self.connections[index].socket.send(bytes) {
        case .blocked: return
        case .ended:
            self.connections[index].deadline = .zero
            return
        case .bytes(let count): bytes = bytes.dropFirst(count)
        }
        self.connections[index].state = .writing(bytes)
        guard bytes.isEmpty else { return }
        // The browser closes first: unread bytes would turn the close into a reset, which may overtake the page.
        self.connections[index].socket.endWriting()
        self.connections[index].state = .closing
        self.connections[index].deadline =
            self.connections[index].isHalfClosed ? .zero : self.now + self.limits.closing
    }
}
