import StreamSession
import StreamTransport

/// The side of a turn that any task may use: its right to run, its cancellation, its steering, and its report.
///
/// It belongs to the turn's driver, whose `shared` is behind the turn's lock. The gate of the engine holds this object
/// while the turn runs, because a weak reference to the driver would make each of its retains and releases slow.
final class TurnControl: Sendable {
    private let engine: Engine
    let shared = LockedValue(SharedTurnState())
    let report = LockedValue(ChappieStreamReport())
    let questions: ProgramQuestions
    let permission: SendingPermission
    let steering = Steering()

    /// Creates the value of a turn that has not begun.
    ///
    /// - Parameters:
    ///   - engine: the instance's engine.
    ///   - requestID: the caller's name for the request.
    ///   - point: the position at which another turn's response is continued; nil for a request.
    init(_ engine: Engine, requestID: String, resuming point: ResumeCursor?) {
        self.engine = engine
        self.questions = ProgramQuestions(clock: engine.clock)
        self.permission = SendingPermission(engine, requestID: requestID)
        if let point { self.shared.withLock { $0.points = ResumePoints(point) } }
    }

    /// Asks the engine for the right to run; returns false once the engine is shut down.
    func admit() -> Bool {
        guard let admission = self.engine.gate.admit({ self.shutDown() }) else { return false }
        self.shared.withLock { if !$0.isCancelled { $0.admission = admission } }
        return true
    }

    /// Closes the connections and ends the stream with the error `engine.shut-down`, unless it is cancelled already.
    private func shutDown() {
        self.shared.withLock { $0.isShutDown = !$0.isCancelled }
        self.cancel()
    }

    /// Closes the connections and ends the stream with `CancellationError`.
    func cancel() {
        let connections = self.shared.withLock { shared in
            shared.isCancelled = true
            return shared.connections
        }
        // After the flag: the driver that a given-up question wakes finds the turn cancelled.
        self.questions.giveUp()
        self.steering.cancel()
        for connection in connections { connection.cancel() }
        // A turn whose consumer has stopped reading never ends by itself.
        self.leave()
        self.abandonTicket()
    }

    /// Waits for a place among the turns that run at a time; `end` is the end of the turn's time.
    ///
    /// - Throws: `unanswered` when the turn is given up, or its time is over.
    func takePlace(by end: Duration?) async throws(RequestSender.Failure) {
        guard let queue = self.engine.queue else { return }
        do {
            let place = try await self.questions.answer(by: end) { try await queue.place() }
            self.shared.withLock { if !$0.isCancelled { $0.place = place } }
        } catch {
            throw .unanswered(error)
        }
    }

    /// Gives back the right to run, and the place.
    func leave() { _ = self.shared.withLock { ($0.admission.take(), $0.place.take()) } }

    /// Takes the ticket, so that it is answered once.
    func takeTicket() -> CircuitBreaker.Ticket? { self.shared.withLock { $0.ticket.take() } }

    /// Abandons the ticket, so that another turn may be the probe.
    func abandonTicket() {
        if let ticket = self.takeTicket() { self.engine.abandoned(ticket) }
    }

    /// Adds items to the response that is being made.
    ///
    /// From then on the request is not sent again, because that would lose them: a failure ends the turn.
    func steer(_ input: [UInt8]) throws {
        let attempt = self.report.withLock { $0.attempts.last?.number } ?? 1
        try self.steering.steer(input, self.permission, attempt: attempt) { self.cancel() }
    }
}
