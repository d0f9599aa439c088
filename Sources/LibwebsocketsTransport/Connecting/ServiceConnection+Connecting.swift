import CLibwebsocketsShim
import StreamTransport

/// The sockets of a connection whose addresses race, until one has connected.
///
/// It belongs to the service thread.
struct ConnectionContest {
    /// A socket, and its place in the race.
    struct Contestant {
        let id: ConnectionID
        let attempt: Int
        /// Nil within the call that starts it, and when it is gone.
        var stream: OpaquePointer?
        /// Why it has failed, as far as that is known.
        var cause = TransportFailure.Cause.unreachable(code: 0)
    }

    var race: AddressRace
    var contestants: [Contestant] = []
    /// When the next address is tried.
    var deadline: ContinuousClock.Instant?

    /// Whether an attempt has a socket.
    ///
    /// libwebsockets opens it at once, unless a resource of its own is missing.
    var hasSocket: Bool { self.contestants.contains { $0.stream.map(clws_has_socket) ?? false } }

    /// Where a socket stands among `contestants`.
    func index(of id: ConnectionID) -> Int? { self.contestants.firstIndex { $0.id == id } }
}

/// From the name of a host to one socket that has connected.
extension ServiceConnection {
    // MARK: Looking up

    /// Begins with the look-up, or with the connection when the host is an address.
    func start() {
        if let fault = RequestFields.fault(in: self.plan.request) {
            return self.finish(.failed(TransportFailure(phase: .send, cause: .invalidRequest(fault))))
        }
        do throws(TransportFailure) {
            let way = try self.plan.way.get()
            self.tunnel = way.proxy.map { _ in TunnelHandshake() }
            self.route = try self.service.route(for: way)
        } catch {
            return self.finish(.failed(error))
        }
        let host = self.dialled.host
        if Resolver.isNumeric(host) { return self.resolved(.success([host])) }
        let id = self.plan.id
        let service = self.service
        switch service.resolver.resolve(host, deliver: { service.post(.resolved(id, $0)) }) {
        case .answered(let answer): self.resolved(answer)
        case .pending(let ticket): self.lookUp = ticket
        }
    }

    /// Lets the addresses race.
    func resolved(_ answer: Resolver.Answer) {
        guard case .resolving = self.phase else { return }
        self.lookUp = nil
        switch answer {
        case .failure(let failure):
            self.finish(.failed(TransportFailure(phase: self.phaseOfConnecting(.resolve), cause: failure.cause)))
        case .success(let addresses):
            self.noteProgress(\.resolved)
            self.phase = .connecting
            self.contest = ConnectionContest(race: AddressRace(addresses: addresses))
            self.attemptDelayPassed()
        }
    }

    // MARK: Racing

    /// Tries the next address, beside those that are being tried.
    func attemptDelayPassed() {
        self.contest?.deadline = nil
        guard let action = self.contest?.race.delayPassed() else { return }
        self.perform(action)
    }

    /// A socket that raced is gone; one that was given up in the meantime does not matter.
    func contestantFailed(_ id: ConnectionID, _ cause: TransportFailure.Cause) {
        guard let index = self.contest?.index(of: id), let contestant = self.contest?.contestants.remove(at: index),
            let action = self.contest?.race.failed(attempt: contestant.attempt, cause)
        else { return }
        self.perform(action)
    }

    private func perform(_ first: AddressRace.Action) {
        var action = first
        while case .start(let attempt, let address) = action { action = self.start(attempt, at: address) }
        switch action {
        case .lose(let cause):
            if case .unreachable = cause { self.service.resolver.forget(self.dialled.host) }
            self.finish(.failed(TransportFailure(phase: self.phaseOfConnecting(.connect), cause: cause)))
        case .start, .wait, .win, .ignore:
            break
        }
    }

    /// Starts a socket; what is next when that fails at once.
    private func start(_ attempt: Int, at address: String) -> AddressRace.Action {
        let id = self.service.makeID()
        self.contest?.contestants.append(ConnectionContest.Contestant(id: id, attempt: attempt))
        switch self.service.connect(self, as: id, to: address) {
        case .refused(let cause):
            if let index = self.contest?.index(of: id) { self.contest?.contestants.remove(at: index) }
            return self.contest?.race.failed(attempt: attempt, cause) ?? .ignore
        case .started(let stream):
            guard let index = self.contest?.index(of: id) else { return .ignore }
            self.contest?.contestants[index].stream = stream
            let hasNext = self.contest?.race.hasNext ?? false
            self.contest?.deadline = hasNext ? .now + AddressRace.attemptDelay : nil
            return .wait
        }
    }

    // MARK: Events of the sockets that race

    /// Handles an event of a socket that has not won; false when it has to be closed.
    func handleContest(_ event: StreamEvent, on stream: OpaquePointer, id: ConnectionID) -> Bool {
        // A socket that has lost, or was given up, is heard of while it is being closed.
        guard let index = self.contest?.index(of: id) else { return false }
        switch event.kind {
        case .tcpConnected:
            return self.win(index, on: stream)
        case .failed:
            self.contest?.contestants[index].cause = .unreachable(code: clws_connect_error(stream))
            return false
        case .tunnelAnswered, .tunnelEnded, .fieldsDue, .headReceived, .readable, .bytesReceived, .writable,
            .completed, .closed, .woken, .timerFired, .roundEnded, .destroyed:
            preconditionFailure("nothing else can come before TCP is established")
        }
    }

    /// Closes every other socket, on none of which anything was sent.
    private func win(_ index: Int, on stream: OpaquePointer) -> Bool {
        guard var contest = self.contest,
            case .win = contest.race.connected(attempt: contest.contestants[index].attempt)
        else { return false }
        let winner = contest.contestants.remove(at: index)
        self.contest = nil
        self.adopt(stream, id: winner.id)
        for loser in contest.contestants { if let stream = loser.stream { clws_kill(stream) } }
        return true
    }

    /// A socket that raced is gone: another may be started, once libwebsockets has finished with it.
    func contestantDestroyed(_ id: ConnectionID) {
        guard let index = self.contest?.index(of: id), let contestant = self.contest?.contestants[index] else { return }
        self.contest?.contestants[index].stream = nil
        // Within the call that starts it, the call says so itself.
        guard contestant.stream != nil else { return }
        self.service.post(.contestantFailed(self.plan.id, contestant: id, contestant.cause))
    }

    /// Gives up whatever is being looked up or tried.
    func stopConnecting() {
        if let ticket = self.lookUp.take() { self.service.resolver.cancel(ticket) }
        guard let contest = self.contest.take() else { return }
        for contestant in contest.contestants { if let stream = contestant.stream { clws_kill(stream) } }
    }
}
