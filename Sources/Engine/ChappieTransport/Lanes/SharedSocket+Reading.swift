import StreamSession
import StreamTransport
import TransportSurface

/// The delivery of a socket's events to its members.
extension SharedSocket {
    /// The number of messages that are taken before the reader checks its own lane.
    private static let messageCount = 64

    // MARK: Without waiting

    /// Returns the next event of a member; nil when there is none.
    func next(for member: LaneTable.Member) -> TransportEvent? {
        if let event = self.take(for: member) { return event }
        // No member waits: the data in the connection is delivered.
        guard self.state.withLock({ $0.table.takesRole(member) }) else { return nil }
        self.readMessages()
        var errands = Errands()
        self.state.withLock { state in
            Self.passOn(from: member, of: &state, &errands)
        }
        self.run(errands)
        if let event = self.take(for: member) { return event }
        // Between two turns an old socket ends: the next turn begins with another.
        guard self.isTooOld, self.state.withLock({ $0.table.isIdle(member) }) else { return nil }
        self.leave(member, .closing)
        return self.take(for: member)
    }

    private func take(for member: LaneTable.Member) -> TransportEvent? {
        var errands = Errands()
        let event = self.state.withLock { state -> TransportEvent? in
            guard let event = state.users[member]?.inbox.take() else { return nil }
            let unread = state.users[member]?.inbox.unreadByteCount ?? 0
            if state.table.took(member, leaving: unread) {
                state.isPoked = true
                errands.pause = state.pause
            }
            return event
        }
        self.run(errands)
        return event
    }

    /// Passes on the role of the reader from a member that has it.
    private static func passOn(from member: LaneTable.Member, of state: inout State, _ errands: inout Errands) {
        guard let reader = state.table.stoppedWaiting(member) else { return }
        self.wake(reader, .look, of: &state, &errands)
    }

    // MARK: Waiting

    /// Suspends until the member has an event, the duration is over or the task is cancelled.
    func wait(_ member: LaneTable.Member, for duration: Duration?) async -> TransportWaitOutcome {
        let deadline = duration.map { self.clock.now() + $0 }
        self.state.withLock { $0.users[member]?.isInterrupted = false }
        return await withTaskCancellationHandler {
            while true {
                if let outcome = await self.waitOnce(member, until: deadline) { return outcome }
            }
        } onCancel: {
            self.interrupt(member)
        }
    }

    /// Makes one step of a wait; returns nil when another one is necessary.
    private func waitOnce(_ member: LaneTable.Member, until deadline: Duration?) async -> TransportWaitOutcome? {
        if self.settle(member) { return .ready }
        if self.state.withLock({ $0.table.waits(member) }) == .reads {
            return await self.read(for: member, until: deadline)
        }
        switch await self.sleep(member, until: deadline) {
        case .look: return nil
        case .deadline: return .deadlinePassed
        case .cancelled: return .cancelled
        }
    }

    /// Returns whether there are events, so that the member waits no more.
    private func settle(_ member: LaneTable.Member) -> Bool {
        var errands = Errands()
        let hasEvents = self.state.withLock { state in
            guard Self.hasEvents(member, state) else { return false }
            // It may have become the reader in the same moment.
            Self.passOn(from: member, of: &state, &errands)
            return true
        }
        self.run(errands)
        return hasEvents
    }

    /// Sleeps until the state changes for the member.
    private func sleep(_ member: LaneTable.Member, until deadline: Duration?) async -> Wake {
        await withCheckedContinuation { continuation in
            var errands = Errands()
            self.state.withLock { state in
                let isInterrupted = state.users[member]?.isInterrupted ?? true
                guard !isInterrupted, !Self.hasEvents(member, state), state.table.waits(member) == .sleeps else {
                    if isInterrupted { Self.passOn(from: member, of: &state, &errands) }
                    return errands.wakes.append((continuation, isInterrupted ? .cancelled : .look))
                }
                state.users[member]?.sleeper = Sleeper(continuation: continuation, deadline: deadline)
                guard let deadline, state.pauseEnd.map({ deadline < $0 }) ?? true else { return }
                // The reader keeps the time of all members.
                state.isPoked = true
                errands.pause = state.pause
            }
            self.run(errands)
        }
    }

    /// Handles the cancellation of a waiting member's task.
    private func interrupt(_ member: LaneTable.Member) {
        var errands = Errands()
        self.state.withLock { state in
            state.users[member]?.isInterrupted = true
            state.isPoked = true
            errands.pause = state.pause
            guard state.users[member]?.sleeper != nil else { return }
            Self.passOn(from: member, of: &state, &errands)
            Self.wake(member, .cancelled, of: &state, &errands)
        }
        self.run(errands)
    }

    private static func hasEvents(_ member: LaneTable.Member, _ state: State) -> Bool {
        guard let user = state.users[member] else { return true }
        return !user.inbox.isEmpty || user.hasLeft || state.end != nil
    }

    // MARK: The reader

    /// Reads for all members until this one has the event that it waits for.
    private func read(for member: LaneTable.Member, until deadline: Duration?) async -> TransportWaitOutcome {
        while true {
            self.readMessages()
            let now = self.clock.now()
            var errands = Errands()
            let step = self.state.withLock { state in
                Self.step(of: member, until: deadline, at: now, of: &state, &errands)
            }
            self.run(errands)
            switch step {
            case .done(let outcome): return outcome
            case .pause(let end, let mayRead): await self.pause(until: end, now: now, readsSocket: mayRead)
            }
        }
    }

    private enum ReaderStep {
        case done(TransportWaitOutcome)
        case pause(until: Duration?, readsSocket: Bool)
    }

    /// Ends the waits whose time is over, and returns the reader's next step.
    private static func step(
        of member: LaneTable.Member, until deadline: Duration?, at now: Duration, of state: inout State,
        _ errands: inout Errands
    ) -> ReaderStep {
        var nearest = deadline
        for (other, user) in state.users {
            guard let end = user.sleeper?.deadline else { continue }
            guard end <= now else {
                nearest = min(nearest ?? end, end)
                continue
            }
            _ = state.table.stoppedWaiting(other)
            self.wake(other, .deadline, of: &state, &errands)
        }
        var outcome: TransportWaitOutcome?
        if self.hasEvents(member, state) {
            outcome = .ready
        } else if state.users[member]?.isInterrupted ?? true {
            outcome = .cancelled
        } else if let deadline, deadline <= now {
            outcome = .deadlinePassed
        }
        guard let outcome else {
            state.isPoked = false
            state.pauseEnd = nearest
            return .pause(until: nearest, readsSocket: state.table.mayRead)
        }
        self.passOn(from: member, of: &state, &errands)
        return .done(outcome)
    }

    /// Waits for the socket, or for time alone while reading is held up; ends early when the state changes.
    private func pause(until end: Duration?, now: Duration, readsSocket: Bool) async {
        let remaining = end.map { $0 - now }
        let pause = Task<Void, Never> { [connection, clock] in
            if readsSocket {
                _ = await connection.wait(for: remaining)
            } else {
                try? await clock.sleep(remaining ?? .seconds(86_400))
            }
        }
        let isPoked = self.state.withLock { state in
            state.pause = pause
            return state.isPoked
        }
        if isPoked { pause.cancel() }
        await pause.value
        self.state.withLock { $0.pause = nil }
    }

    // MARK: Messages

    /// Takes the data from the connection, and delivers it.
    ///
    /// For the reader. It stops before a member's limit is exceeded by more than one message.
    private func readMessages() {
        for _ in 0..<Self.messageCount {
            guard self.state.withLock({ $0.table.mayRead && $0.end == nil }), let event = self.connection.next() else {
                return
            }
            self.received(event)
        }
    }

    private func received(_ event: TransportEvent) {
        var message: LaneMessage?
        if case .payload(let payload) = event { message = LaneMessage(payload, with: &self.decoder) }
        let now = self.clock.now()
        var errands = Errands()
        self.state.withLock { state in
            switch event {
            case .ready: return
            case .opened(let head):
                state.head = head
                Self.putForAll(event, at: now, of: &state, &errands)
            case .ended(let end):
                state.end = end
                Self.putForAll(event, at: now, of: &state, &errands)
            case .pong:
                guard !state.pingers.isEmpty else { return }
                Self.put(event, for: state.pingers.removeFirst(), at: now, of: &state, &errands)
            case .payload:
                guard let message, state.head?.statusCode == 101 else {
                    // The body of a refusal is for all members that wait for the socket.
                    return Self.putForAll(event, at: now, of: &state, &errands)
                }
                self.deliver(event, as: message, at: now, of: &state, &errands)
            }
        }
        self.run(errands)
    }

    private func deliver(
        _ event: TransportEvent, as message: LaneMessage, at now: Duration, of state: inout State,
        _ errands: inout Errands
    ) {
        let delivery = state.table.received(message)
        for recipient in delivery.recipients { Self.put(event, for: recipient, at: now, of: &state, &errands) }
        for member in delivery.starts {
            guard var user = state.users[member] else { continue }
            user.turnCameAt = now
            user.sentByteCount += user.held.reduce(0) { $0 + $1.message.count }
            errands.sends += user.held
            user.held = []
            state.users[member] = user
        }
        errands.breaksSocket = delivery.breaksSocket
    }

    private static func putForAll(
        _ event: TransportEvent, at now: Duration, of state: inout State, _ errands: inout Errands
    ) {
        for member in state.users.keys.sorted(by: { $0.number < $1.number }) {
            self.put(event, for: member, at: now, of: &state, &errands)
        }
    }

    private static func put(
        _ event: TransportEvent, for member: LaneTable.Member, at now: Duration, of state: inout State,
        _ errands: inout Errands
    ) {
        guard state.users[member]?.hasLeft == false else { return }
        state.users[member]?.inbox.append(event)
        if case .payload(let payload) = event {
            let byteCount = payload.byteCount
            state.users[member]?.lastMessageAt = now
            state.users[member]?.receivedByteCount += byteCount
            state.table.put(byteCount, for: member)
        }
        state.table.stoppedSleeping(member)
        self.wake(member, .look, of: &state, &errands)
    }
}
