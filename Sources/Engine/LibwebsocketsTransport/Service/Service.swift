import CLibwebsocketsShim
import PlatformC
import StreamTransport
import Synchronization

/// A service thread: an event loop, and the connections on it.
///
/// It starts when it is made, sleeps while it has no connection and no job, and never ends. Everything but `post`,
/// `postBehindMessages`, `enqueue`, `makeID`, `isCurrent` and `hasFailed` belongs to the thread.
/// - Safety: the stored properties other than `mailbox`, `resolver`, `buffers`, `thread` and `lastID` are touched on the
///   service thread only.
final class Service: @unchecked Sendable {
    let resolver: Resolver
    let buffers = InboundBufferPool()
    private let mailbox = ServiceMailbox()
    private(set) var pointer: OpaquePointer?
    private var connections: [ConnectionID: ServiceConnection] = [:]
    /// The scratch memory of the connection that is read or written.
    let scratch = LayerScratch()
    private var tlsContexts: [ChappieTLSPolicy: OpaquePointer] = [:]

    // The state that each event touches. It belongs to one thread, and no access leads to another one of the same
    // property: exclusivity is not checked at run time, which would take longer than the access.

    /// The sockets of all connections.
    @exclusivity(unchecked) var sockets = SocketTable()
    @exclusivity(unchecked) var waking: [ServiceConnection] = []
    /// The jobs of consumers that prefer this thread, in order.
    @exclusivity(unchecked) var jobs: [UnownedJob] = []
    /// The storage of the commands that are performed.
    @exclusivity(unchecked) private var commands: [ServiceCommand] = []
    /// The connections with messages that are written together with those behind them; some more than once.
    @exclusivity(unchecked) private var senders: [ServiceConnection] = []
    /// The commands that these jobs have posted.
    @exclusivity(unchecked) var ownCommands: [ServiceCommand] = []
    @exclusivity(unchecked) private var deadlines = DeadlineQueue()
    /// The scratch memory of the connection that is being read.
    @exclusivity(unchecked) var pieces = PieceScratch()
    /// The masking keys of the frames that are written next.
    @exclusivity(unchecked) var maskingKeys = MaskingKeyBlock()
    /// The buffer for the connection that is read next.
    @exclusivity(unchecked) private var reserve: InboundBuffer?
    /// The callers that wait for connections to be closed, with the connections.
    @exclusivity(unchecked) private var closeWaiters:
        [(connections: Set<ConnectionID>, continuation: CheckedContinuation<Void, Never>)] = []
    /// The deadline that the loop's timer is set to.
    @exclusivity(unchecked) private var timerDeadline: Moment?
    /// Indicates whether the timer was that late when it fired last that the process may have been stopped.
    @exclusivity(unchecked) private var isTimerLate = false
    /// The time of the next release of unused memory.
    private var nextRelease = Moment(nanoseconds: 0)
    private let lastID = LockedValue<UInt>(0)
    /// The number of the service thread; 0 while it does not run.
    private let thread = Atomic<UInt>(0)

    /// Starts the thread.
    init(resolver: Resolver) {
        self.resolver = resolver
        if !SystemThread.startDetached({ self.run() }) { self.mailbox.refuse(.environmentUnusable(.thread)) }
    }

    // MARK: Any thread

    /// Queues a command for the service thread.
    func post(_ command: ServiceCommand) {
        // A job's command needs no wake-up: the round that runs the job performs it.
        if self.isCurrent { self.ownCommands.append(command) } else { self.mailbox.post(command) }
    }

    /// Queues a command behind the messages that were queued before, whatever thread queued them.
    ///
    /// Commands that a job queues with `post` are performed before those of the other threads.
    func postBehindMessages(_ command: ServiceCommand) { self.mailbox.post(command) }

    /// Indicates whether the caller runs on the service thread.
    var isCurrent: Bool { self.thread.load(ordering: .relaxed) == SystemThread.currentNumber }

    /// Indicates whether there is no thread, so that every command is refused.
    var hasFailed: Bool { self.mailbox.isRefusing }

    /// Returns a number that was never used before, and is not 0.
    func makeID() -> ConnectionID {
        ConnectionID(
            rawValue: self.lastID.withLock { last in
                last += 1
                return last
            })
    }

    // MARK: Service thread

    private func run() {
        self.thread.store(SystemThread.currentNumber, ordering: .relaxed)
        // The number may become another thread's.
        defer { self.thread.store(0, ordering: .relaxed) }
        let owner = Unmanaged.passUnretained(self).toOpaque()
        let descriptorCount = Int(CLWS_SERVICE_DESCRIPTOR_COUNT) + DescriptorLimit.reserve
        if DescriptorLimit.hasRoom(for: descriptorCount) { self.pointer = clws_service_create(serviceCallback, owner) }
        guard let pointer = self.pointer else {
            let limit = DescriptorLimit.exhausted(wanting: descriptorCount)
            self.mailbox.refuse(limit.map { .descriptorsExhausted(limit: $0) } ?? .environmentUnusable(.service))
            return
        }
        self.mailbox.attach(pointer)
        clws_service_run(pointer)
    }

    fileprivate func handle(_ event: clws_event, token: UInt64, readiness: CUnsignedInt) {
        switch event {
        case .woken:
            self.performPosted()
        case .timerFired:
            self.timerFired()
        case .roundEnded:
            self.roundEnded()
        case .socketReady:
            let token = SocketToken(rawValue: token)
            guard let connection = self.sockets.owner(of: token) else { return }
            connection.socketReady(token, for: Readiness(rawValue: readiness))
            self.settle(connection)
        }
    }

    /// Completes the work on a connection after an event or a command.
    private func settle(_ connection: ServiceConnection) {
        connection.settle()
        self.expect(connection, by: connection.nextDeadline(isPaused: false))
    }

    /// The number of times that commands are taken before the sockets come first again.
    private static let drainLimit = 8
    /// The largest number of places for commands that is kept.
    private static let keptCommandCount = 256

    /// Performs the posted commands, and those that are posted meanwhile.
    ///
    /// What jobs on this thread have posted comes first: a task may have posted more since then from another thread.
    private func performPosted() {
        if !self.ownCommands.isEmpty { self.perform(self.ownCommands.take()) }
        for _ in 0..<Self.drainLimit {
            guard self.mailbox.drain(into: &self.commands) else { return }
            self.perform(self.commands)
            self.commands.removeAll(keepingCapacity: self.commands.capacity <= Self.keptCommandCount)
        }
        self.mailbox.endDraining()
    }

    /// Performs commands, in order.
    ///
    /// Successive messages are written together, as far as one write of a connection takes them: a system call for each
    /// would take longer than everything else. The first other command, or the end of all, has them written.
    func perform(_ commands: [ServiceCommand]) {
        for command in commands {
            if case .send = command {} else { self.settleSenders() }
            self.perform(command)
        }
        self.settleSenders()
    }

    private func send(_ message: OutboundMessage, on id: ConnectionID) {
        if self.senders.last?.plan.id != id {
            guard let connection = self.connections[id] else { return }
            self.senders.append(connection)
        }
        guard let sender = self.senders.last else { return }
        if !sender.hasRoomInWrite(for: message) { self.settle(sender) }
        sender.send(message)
    }

    private func settleSenders() {
        while let sender = self.senders.popLast() { self.settle(sender) }
        if self.senders.capacity > Self.keptCommandCount { self.senders = [] }
    }

    private func perform(_ command: ServiceCommand) {
        switch command {
        case .open(let plan):
            let connection = ServiceConnection(plan: plan, service: self)
            self.connections[plan.id] = connection
            self.perform(on: plan.id) { $0.start() }
        case .resolved(let id, let answer):
            self.perform(on: id) { $0.resolved(answer) }
        case .send(let id, let message):
            self.send(message, on: id)
        case .ping(let id):
            self.perform(on: id) { $0.ping() }
        case .measure(let id, let ticket):
            self.perform(on: id) { $0.ping(for: ticket) }
        case .release(let id):
            self.perform(on: id) { $0.release() }
        case .close(let id, let code):
            self.perform(on: id) { $0.close(code: code) }
        case .closeWith(let id, let frame):
            self.perform(on: id) { $0.close(with: frame) }
        case .cancel(let id):
            self.perform(on: id) { $0.cancel() }
        case .resume(let id):
            self.perform(on: id) { $0.resumeReading() }
        case .watch(let id):
            self.look(at: id, .now)
        case .finishClosing(let deadline, let continuation):
            self.finishClosing(by: deadline, continuation)
        case .run(let job):
            self.jobs.append(job)
        }
    }

    private func finishClosing(by deadline: Moment, _ continuation: CheckedContinuation<Void, Never>) {
        let closing = self.connections.filter(\.value.isClosing)
        for id in closing.keys { self.perform(on: id) { $0.limitClosing(to: deadline) } }
        self.closeWaiters.append((Set(closing.keys), continuation))
    }

    private func perform(on id: ConnectionID, _ action: (ServiceConnection) -> Void) {
        guard let connection = self.connections[id] else { return }
        action(connection)
        self.settle(connection)
    }

    // MARK: Time

    /// Schedules an examination of a connection by a deadline; one that is later than the scheduled one is ignored.
    ///
    /// Most events of a connection postpone its deadlines, at the cost of this one comparison.
    private func expect(_ connection: ServiceConnection, by deadline: Moment?) {
        guard let deadline, connection.lookDeadline.map({ deadline < $0 }) ?? true else { return }
        // The current event may have removed it.
        guard self.connections[connection.plan.id] === connection else { return }
        connection.lookDeadline = deadline
        self.deadlines.expect(deadline, for: connection.plan.id)
    }

    private func look(at id: ConnectionID, _ now: Moment) {
        guard let connection = self.connections[id] else { return }
        // The process has just resumed: the timer fires as well, and lets the sockets be read first.
        if let due = connection.lookDeadline, now - due > Moment.latenessOfStop { return }
        let next = connection.look(at: now)
        connection.settle()
        self.expect(connection, by: next)
    }

    private func timerFired() {
        let now = Moment.now
        let isLate = self.timerDeadline.map { now - $0 > Moment.latenessOfStop } ?? false
        // A thread that is late again was not stopped: its sockets keep it busy, and deadlines count.
        let wasStopped = isLate && !self.isTimerLate
        self.isTimerLate = isLate
        if wasStopped { return self.goOnAfterStop(now) }
        self.timerDeadline = nil
        for id in self.deadlines.takeDue(at: now) {
            self.connections[id]?.lookDeadline = nil
            self.look(at: id, now)
        }
        if now >= self.nextRelease {
            self.nextRelease = now + Self.releaseInterval
            self.buffers.releaseUnused()
        }
    }

    /// The time after which unused memory is freed, at the next deadline of any connection.
    private static let releaseInterval = Duration.seconds(5)

    /// The time for which the sockets are read behind a stop before deadlines are judged: some rounds of the loop.
    private static let timeToReadFirst = Duration.milliseconds(250)

    /// Postpones due deadlines: bytes that arrived before them lie in the sockets, and the loop may not have read them
    /// yet.
    private func goOnAfterStop(_ now: Moment) {
        self.timerDeadline = nil
        for id in self.deadlines.takeDue(at: now) {
            guard let connection = self.connections[id] else { continue }
            connection.lookDeadline = nil
            self.expect(connection, by: now + Self.timeToReadFirst)
        }
    }

    private func roundEnded() {
        self.resumeWaiters()
        self.resumeCloseWaiters()
        self.runJobs()
        self.setTimer()
    }

    /// Ends the loop's next wait at once.
    func wakeUp() { self.mailbox.wake() }

    func resumeCloseWaiters() {
        guard !self.closeWaiters.isEmpty else { return }
        for waiter in self.closeWaiters.take() {
            if waiter.connections.isDisjoint(with: self.connections.keys) {
                waiter.continuation.resume()
            } else {
                self.closeWaiters.append(waiter)
            }
        }
    }

    private func setTimer() {
        let earliest = self.deadlines.earliest
        guard earliest != self.timerDeadline, let pointer = self.pointer else { return }
        self.timerDeadline = earliest
        guard let earliest else { return clws_service_set_timer(pointer, 0) }
        // A year stands for any longer time; a negative time is due at once.
        let nanoseconds = min(earliest.nanoseconds(since: .now), 31_536_000 * 1_000_000_000)
        // Rounded up, as a timer that fires too early is set again.
        clws_service_set_timer(pointer, max(1, (nanoseconds + 999) / 1_000))
    }

    // MARK: Rounds

    /// Resumes the waiting consumers, once per round, so that each is woken once for all events of the round.
    func resumeWaiters() {
        while let connection = self.waking.popLast() { connection.resumeWaiter() }
    }

    /// The number of bytes that each connection may have unread, if its watermarks allow more; `Int.max` without a
    /// limit.
    var inboundShare: Int { self.buffers.memory.share(ofStreams: self.connections.count) }

    /// Takes a large buffer, empty.
    func takeReserve() -> InboundBuffer { self.reserve.take() ?? self.buffers.take() }

    /// Keeps a large buffer that is empty, unless an arena has taken it.
    func putBackReserve(_ buffer: InboundBuffer?) {
        guard let buffer else { return }
        if self.reserve == nil { self.reserve = buffer } else { self.buffers.giveBack(buffer) }
    }

    /// Notes that a connection's consumer has an event to read when the round ends.
    func wake(_ connection: ServiceConnection) {
        self.waking.append(connection)
    }

    /// Removes a connection that has ended and whose socket is closed.
    func remove(_ connection: ServiceConnection) {
        self.connections.removeValue(forKey: connection.plan.id)
        self.deadlines.remove(connection.plan.id)
    }

    /// Returns the TLS context that connections of one policy share; its files are read once.
    func tlsContext(for tls: ChappieTLSPolicy) throws(TransportFailure) -> OpaquePointer {
        if let known = self.tlsContexts[tls] { return known }
        let made = try makeTLSContext(for: tls)
        self.tlsContexts[tls] = made
        return made
    }
}

/// The only function that the shim calls, always on the service thread.
///
/// It receives a socket's token and no pointer of ours, so an event of a closed socket is ignored.
private func serviceCallback(
    owner: UnsafeMutableRawPointer?, event: clws_event, token: UInt64, readiness: CUnsignedInt
) {
    guard let owner else { return }
    Unmanaged<Service>.fromOpaque(owner).takeUnretainedValue().handle(event, token: token, readiness: readiness)
}
