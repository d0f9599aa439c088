import CLibwebsocketsShim
import StreamTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A service thread: an event loop, and the connections on it.
///
/// It starts when it is made, sleeps while it has no connection, and never ends. Everything but `post`, `makeID` and
/// `hasFailed` belongs to the thread.
/// - Safety: the stored properties other than `mailbox`, `resolver`, `buffers` and `lastID` are touched on the service
///   thread only.
final class Service: @unchecked Sendable {
    let resolver: Resolver
    let buffers = InboundBufferPool()
    private let mailbox = ServiceMailbox()
    private(set) var pointer: OpaquePointer?
    private var connections: [ConnectionID: ServiceConnection] = [:]
    private var streams: [ConnectionID: ServiceConnection] = [:]
    private var routes: [Way: OpaquePointer] = [:]
    private var uploading: [ServiceConnection] = []
    private var closing: [ServiceConnection] = []
    private var waking: [ServiceConnection] = []
    /// The callers that wait for connections to be closed, with the connections.
    private var closeWaiters: [(connections: Set<ConnectionID>, continuation: CheckedContinuation<Void, Never>)] = []
    private var deadlines = DeadlineQueue()
    /// For whichever connection is being read.
    var pieces = PieceScratch()
    /// For the connection that is read next.
    private var reserve: InboundBuffer?
    /// What the loop's timer is set to.
    private var timerDeadline: ContinuousClock.Instant?
    private let lastID = LockedValue<UInt>(0)

    /// Starts the thread.
    init(resolver: Resolver) {
        self.resolver = resolver
        if !startThread({ self.run() }) { self.mailbox.refuse(.environmentUnusable(.thread)) }
    }

    // MARK: Any thread

    /// Queues a command for the service thread.
    func post(_ command: ServiceCommand) {
        self.mailbox.post(command)
    }

    /// Whether there is no thread, so that every command is refused.
    var hasFailed: Bool { self.mailbox.isRefusing }

    /// A number that was never used before, and is not 0.
    func makeID() -> ConnectionID {
        ConnectionID(
            rawValue: self.lastID.withLock { last in
                last += 1
                return last
            })
    }

    // MARK: Service thread

    private func run() {
        let owner = Unmanaged.passUnretained(self).toOpaque()
        let descriptorCount = Int(CLWS_SERVICE_DESCRIPTOR_COUNT)
        if DescriptorLimit.hasRoom(for: descriptorCount) { self.pointer = clws_service_create(serviceCallback, owner) }
        guard let pointer = self.pointer else {
            let limit = DescriptorLimit.exhausted(wanting: descriptorCount)
            self.mailbox.refuse(limit.map { .descriptorsExhausted(limit: $0) } ?? .environmentUnusable(.service))
            return
        }
        self.mailbox.attach(pointer)
        clws_service_run(pointer)
    }

    fileprivate func handle(
        _ event: clws_event,
        stream: OpaquePointer?,
        id: UInt,
        payload: UnsafeMutableRawPointer?,
        count: Int
    ) -> CInt {
        switch event {
        case .woken:
            for command in self.mailbox.drain() { self.perform(command) }
        case .timerFired:
            self.timerFired()
        case .roundEnded:
            self.roundEnded()
        case .destroyed:
            let id = ConnectionID(rawValue: id)
            self.streams.removeValue(forKey: id)?.streamDestroyed(id)
        case .tcpConnected, .tunnelAnswered, .tunnelEnded, .fieldsDue, .headReceived, .readable, .bytesReceived,
            .writable,
            .completed, .closed, .failed:
            let id = ConnectionID(rawValue: id)
            guard let stream, let connection = self.streams[id] else { return -1 }
            let event = StreamEvent(kind: event, payload: payload, count: count)
            let isAlive = connection.handle(event, on: stream, id: id)
            self.expect(connection, by: connection.nextDeadline(isPaused: false))
            return isAlive ? 0 : -1
        }
        return 0
    }

    private func perform(_ command: ServiceCommand) {
        switch command {
        case .open(let plan):
            let connection = ServiceConnection(plan: plan, service: self)
            self.connections[plan.id] = connection
            if let pointer = self.pointer { clws_service_set_active(pointer, true) }
            self.perform(on: plan.id) { $0.start() }
        case .resolved(let id, let answer):
            self.perform(on: id) { $0.resolved(answer) }
        case .contestantFailed(let id, let contestant, let cause):
            self.perform(on: id) { $0.contestantFailed(contestant, cause) }
        case .send(let id, let message):
            self.perform(on: id) { $0.send(message) }
        case .ping(let id):
            self.perform(on: id) { $0.ping() }
        case .release(let id):
            self.perform(on: id) { $0.release() }
        case .close(let id, let code):
            self.perform(on: id) { $0.close(code: code) }
        case .cancel(let id):
            self.perform(on: id) { $0.cancel() }
        case .resume(let id):
            self.perform(on: id) { $0.resumeReading() }
        case .watch(let id):
            self.look(at: id, .now)
        case .finishClosing(let deadline, let continuation):
            self.finishClosing(by: deadline, continuation)
        }
    }

    private func finishClosing(by deadline: ContinuousClock.Instant, _ continuation: CheckedContinuation<Void, Never>) {
        let closing = self.connections.filter(\.value.isClosing)
        for id in closing.keys { self.perform(on: id) { $0.limitClosing(to: deadline) } }
        self.closeWaiters.append((Set(closing.keys), continuation))
    }

    private func perform(on id: ConnectionID, _ action: (ServiceConnection) -> Void) {
        guard let connection = self.connections[id] else { return }
        action(connection)
        self.expect(connection, by: connection.nextDeadline(isPaused: false))
    }

    // MARK: Time

    /// Looks at a connection by then; a later moment than the one that is expected already changes nothing.
    ///
    /// Whatever comes for a connection moves its deadlines away, mostly, and costs this one comparison.
    private func expect(_ connection: ServiceConnection, by deadline: ContinuousClock.Instant?) {
        guard let deadline, connection.lookDeadline.map({ deadline < $0 }) ?? true else { return }
        // It may have gone with the event in hand.
        guard self.connections[connection.plan.id] === connection else { return }
        connection.lookDeadline = deadline
        self.deadlines.expect(deadline, for: connection.plan.id)
    }

    private func look(at id: ConnectionID, _ now: ContinuousClock.Instant) {
        guard let connection = self.connections[id] else { return }
        // The process has just gone on: the timer fires as well, and lets the sockets be read first.
        if let due = connection.lookDeadline, now - due > Self.latenessOfStop { return }
        self.expect(connection, by: connection.look(at: now))
    }

    private func timerFired() {
        let now = ContinuousClock.now
        if let due = self.timerDeadline, now - due > Self.latenessOfStop { return self.goOnAfterStop(now) }
        self.timerDeadline = nil
        for id in self.deadlines.takeDue(at: now) {
            self.connections[id]?.lookDeadline = nil
            self.look(at: id, now)
        }
    }

    /// How late the timer is when the process was stopped, or the machine asleep.
    private static let latenessOfStop = Duration.seconds(1)
    /// How long the sockets are read then before anything is judged: some rounds of the loop.
    private static let timeToReadFirst = Duration.milliseconds(250)

    /// Puts off what was due: what has come before a deadline lies in the sockets, and the loop may not have read it yet.
    private func goOnAfterStop(_ now: ContinuousClock.Instant) {
        self.timerDeadline = nil
        for id in self.deadlines.takeDue(at: now) {
            guard let connection = self.connections[id] else { continue }
            connection.lookDeadline = nil
            self.expect(connection, by: now + Self.timeToReadFirst)
        }
    }

    private func roundEnded() {
        for connection in self.closing.take() { connection.confirmClosed() }
        self.continueUploads()
        self.setTimer()
        self.resumeWaiters()
        self.resumeCloseWaiters()
    }

    private func resumeCloseWaiters() {
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
        guard let earliest else { return clws_service_stop_timer(pointer) }
        let (seconds, attoseconds) = (earliest - .now).components
        // A year is as good as for ever.
        let microseconds = min(seconds, 31_536_000) * 1_000_000 + attoseconds / 1_000_000_000_000
        clws_service_set_timer(pointer, microseconds)
    }

    // MARK: Rounds

    private func continueUploads() {
        guard !self.uploading.isEmpty else { return }
        for connection in self.uploading.take() {
            if connection.continueUpload() { self.uploading.append(connection) }
            self.expect(connection, by: connection.nextDeadline(isPaused: false))
        }
    }

    /// Sees to it that a connection's socket is closed when the round ends.
    func close(_ connection: ServiceConnection) {
        self.closing.append(connection)
    }

    /// Has the rest of a connection's request written, beginning when the round ends.
    func upload(_ connection: ServiceConnection) {
        self.uploading.append(connection)
    }

    /// Once per round, so that a consumer is woken once for everything that came with it.
    private func resumeWaiters() {
        while let connection = self.waking.popLast() { connection.resumeWaiter() }
    }

    /// Takes a large buffer, empty.
    func takeReserve() -> InboundBuffer { self.reserve.take() ?? self.buffers.take() }

    /// Keeps a large buffer that is empty, unless an arena has taken it.
    func putBackReserve(_ buffer: InboundBuffer?) {
        guard let buffer else { return }
        if self.reserve == nil { self.reserve = buffer } else { self.buffers.giveBack(buffer) }
    }

    /// Remembers that a connection's consumer has something to read when the round ends.
    func wake(_ connection: ServiceConnection) {
        self.waking.append(connection)
    }

    /// What came of starting a socket.
    enum Start {
        /// It is being connected.
        case started(OpaquePointer)
        /// It could not be started.
        case refused(TransportFailure.Cause)
    }

    /// Starts a socket for a connection, which is known by this number.
    ///
    /// Its events go to `connection` until it is destroyed.
    func connect(_ connection: ServiceConnection, as id: ConnectionID, to address: String) -> Start {
        let endpoint = connection.plan.request.endpoint
        guard let pointer = self.pointer, let route = connection.route else { return .refused(.unavailable) }
        self.streams[id] = connection
        var code: CInt = 0
        let stream = address.withCString { address in
            connection.hostField.withCString { hostField in
                endpoint.target.withCString { target in
                    connection.method.withCString { method in
                        let tunnelRequest = connection.tunnelRequest
                        return tunnelRequest.withUnsafeBufferPointer { tunnelRequest in
                            var options = clws_target(
                                route: route, id: id.rawValue, address: address, port: connection.dialled.port,
                                host: hostField, target: target, method: method, is_secure: endpoint.isSecure,
                                tunnel_request: tunnelRequest.baseAddress, tunnel_request_count: tunnelRequest.count)
                            return clws_connect(pointer, &options, &code)
                        }
                    }
                }
            }
        }
        if let stream { return .started(stream) }
        self.streams.removeValue(forKey: id)
        return .refused(self.cause(of: code, on: pointer))
    }

    private func cause(of code: CInt, on pointer: OpaquePointer) -> TransportFailure.Cause {
        switch code {
        case EMFILE:
            .descriptorsExhausted(limit: min(DescriptorLimit.current, Int(clws_service_descriptor_limit(pointer))))
        case ENFILE, ENOMEM:
            .unavailable
        case CInt(CLWS_ERROR_NO_SOCKETS):
            .environmentUnusable(.socket)
        default:
            .unreachable(code: code)
        }
    }

    /// Forgets a connection that has ended and whose socket is gone.
    func remove(_ connection: ServiceConnection) {
        self.connections.removeValue(forKey: connection.plan.id)
        self.deadlines.remove(connection.plan.id)
        if self.connections.isEmpty, let pointer = self.pointer { clws_service_set_active(pointer, false) }
    }

    /// What connections of one way share; its files are read once.
    func route(for way: Way) throws(TransportFailure) -> OpaquePointer {
        // A tunnel is each connection's own: what is shared lies behind it.
        let way = Way(tls: way.tls)
        if let known = self.routes[way] { return known }
        guard let pointer = self.pointer else { throw TransportFailure(phase: .connect, cause: .unavailable) }
        let made = try makeRoute(for: way, on: pointer)
        self.routes[way] = made
        return made
    }
}

/// One event of one socket.
struct StreamEvent {
    /// Never one of the events without a stream, and never `DESTROYED`.
    let kind: clws_event
    /// What the shim's header says for the kind.
    let payload: UnsafeMutableRawPointer?
    let count: Int

    /// The payload as bytes.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: self.payload, count: self.count) }
}

/// The only function that the shim calls, always on the service thread.
///
/// It gets a connection's number and no pointer of ours, so an event of a connection that has gone does nothing.
private func serviceCallback(
    owner: UnsafeMutableRawPointer?,
    stream: OpaquePointer?,
    id: UInt,
    event: clws_event,
    bytes: UnsafeMutableRawPointer?,
    count: Int
) -> CInt {
    guard let owner else { return 0 }
    return Unmanaged<Service>.fromOpaque(owner).takeUnretainedValue()
        .handle(event, stream: stream, id: id, payload: bytes, count: count)
}
