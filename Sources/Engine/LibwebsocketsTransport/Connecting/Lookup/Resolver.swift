import PlatformC
import StreamTransport

/// Looks addresses up, on threads of its own, because `getaddrinfo` blocks.
///
/// Its state is `LookupQueue` and `ResolverCache`, under a lock. A look-up cannot be interrupted once `getaddrinfo`
/// runs: its answer is cached, and is not delivered to callers that have cancelled.
final class Resolver: Sendable {
    /// The result of a look-up: numeric addresses in the system's order of preference, or the failure.
    typealias Answer = Result<[String], LookupFailure>

    /// The reason for which a look-up failed.
    enum LookupFailure: Error, Equatable {
        /// `getaddrinfo`'s code: `EAI_…`.
        case unresolvable(code: Int32)
        /// The process has no file descriptor left for it; `limit` is the number that it may have.
        case descriptorsExhausted(limit: Int)
    }

    /// The immediate outcome of a question.
    enum Outcome {
        /// The answer is known.
        case answered(Answer)
        /// It will be delivered, unless the ticket is cancelled.
        case pending(LookupQueue.Ticket)
    }

    private struct State {
        var queue = LookupQueue()
        var cache = ResolverCache()
        var deliveries: [LookupQueue.Ticket: @Sendable (Answer) -> Void] = [:]
        var lastTicket: LookupQueue.Ticket = 0

        /// Removes and returns the callback of a ticket.
        mutating func take(_ ticket: LookupQueue.Ticket) -> (@Sendable (Answer) -> Void)? {
            self.deliveries.removeValue(forKey: ticket)
        }
    }

    /// The process's resolver.
    static let shared = Resolver()

    private let state = LockedValue(State())
    private let lookUp: @Sendable (String) -> Answer
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Creates a resolver that calls `lookUp`, which may block, and reads the time from `now`.
    init(
        lookUp: @escaping @Sendable (String) -> Answer = SystemLookup.addresses,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.lookUp = lookUp
        self.now = now
    }

    /// Looks up the addresses of a host; a pending answer is delivered once, on another thread.
    func resolve(_ host: String, deliver: @escaping @Sendable (Answer) -> Void) -> Outcome {
        // RFC 4343: case does not tell names apart.
        let name = host.lowercased()
        var needsThread = false
        let now = self.now()
        let outcome: Outcome = self.state.withLock { state in
            if let answer = state.cache.answer(for: name, at: now) { return .answered(answer) }
            state.lastTicket += 1
            state.deliveries[state.lastTicket] = deliver
            needsThread = state.queue.ask(for: name, ticket: state.lastTicket)
            return .pending(state.lastTicket)
        }
        if needsThread { self.addThread() }
        return outcome
    }

    /// Cancels the delivery of an answer.
    ///
    /// An answer that is being delivered may still arrive.
    func cancel(_ ticket: LookupQueue.Ticket) {
        self.state.withLock { state in
            state.queue.cancel(ticket)
            state.deliveries[ticket] = nil
        }
    }

    /// Forgets a host's cached addresses, none of which could be connected to.
    func forget(_ host: String) {
        self.state.withLock { $0.cache.forget(host.lowercased()) }
    }

    /// Returns whether the host is an address already.
    static func isNumeric(_ host: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }

    // MARK: Threads

    private func addThread() {
        guard !SystemThread.startDetached({ self.work() }) else { return }
        let stranded = self.state.withLock { state in state.queue.threadFailed().compactMap { state.take($0) } }
        for deliver in stranded { deliver(.failure(.unresolvable(code: EAI_MEMORY))) }
    }

    private func work() {
        var isRelief = false
        while true {
            let now = self.now()
            let step = self.state.withLock { $0.queue.step(isRelief: isRelief, at: now) }
            isRelief = false
            switch step {
            case .lookUp(let name, let startsThread):
                if startsThread { self.addThread() }
                self.answer(name, self.lookUp(name))
            case .pause(let duration):
                isRelief = true
                SystemThread.pause(for: duration)
            case .end:
                return
            }
        }
    }

    private func answer(_ name: String, _ answer: Answer) {
        let now = self.now()
        let deliveries = self.state.withLock { state in
            state.cache.store(answer, for: name, at: now)
            return state.queue.finished(name).compactMap { state.take($0) }
        }
        for deliver in deliveries { deliver(answer) }
    }
}

extension Resolver.LookupFailure {
    /// The failure's cause for a connection.
    var cause: TransportFailure.Cause {
        switch self {
        case .unresolvable(let code): .unresolvable(code: code)
        case .descriptorsExhausted(let limit): .descriptorsExhausted(limit: limit)
        }
    }
}
