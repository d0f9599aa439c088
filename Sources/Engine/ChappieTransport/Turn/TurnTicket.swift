import StreamSession
import StreamTransport

/// The circuit breaker's ticket of a turn: asked for at the beginning, and answered once.
///
/// It belongs to the turn's driver. The ticket itself is behind the turn's lock, as any task may abandon it.
struct TurnTicket {
    private let engine: Engine
    private let control: TurnControl
    /// Indicates whether the breaker has permitted the turn as a probe of the server, and the server has not answered.
    private var isProbe = false

    /// Creates the value of a turn that has not begun.
    init(_ engine: Engine, _ control: TurnControl) {
        self.engine = engine
        self.control = control
    }

    /// Asks the breaker for a ticket.
    ///
    /// - Returns: the time after which another request is worth it, when this one is refused; nil otherwise.
    mutating func ask() -> Duration? {
        switch self.engine.permission() {
        case .allowed(let ticket):
            self.control.shared.withLock { $0.ticket = ticket }
        case .probe(let ticket):
            self.control.shared.withLock { $0.ticket = ticket }
            self.isProbe = true
        case .refused(let retryAfter):
            return retryAfter
        }
        return nil
    }

    /// Records that the server has answered with content: other turns need not wait for the end of a probe.
    mutating func serverAnswered() {
        guard self.isProbe else { return }
        self.isProbe = false
        self.answer(nil)
    }

    /// Records the end of the turn: complete, or failed with an error.
    mutating func answer(_ error: (any Error)?) {
        if let ticket = self.control.takeTicket() { self.engine.answered(ticket, error) }
    }
}
