import StreamTransport

/// The service threads of the process, each made when it is first needed.
///
/// A connection belongs to one thread for its lifetime; new ones are assigned in turn. All threads share one resolver,
/// so that a name is looked up once for all of them.
final class ServicePool: Sendable {
    /// The largest number of threads.
    static let threadLimit = 64

    private struct State {
        var services: [Int: Service] = [:]
        var dealt = 0
    }

    /// The process's threads.
    static let shared = ServicePool()

    private let state = LockedValue(State())
    private let resolver: Resolver

    /// Creates a pool whose threads ask `resolver` for addresses.
    init(resolver: Resolver = .shared) {
        self.resolver = resolver
    }

    /// Waits until the current closing handshakes are over; their sockets are closed after `duration`.
    func finishClosing(within duration: Duration) async {
        let deadline = Moment.now + duration
        for service in self.state.withLock({ Array($0.services.values) }) {
            await withCheckedContinuation { service.post(.finishClosing(by: deadline, $0)) }
        }
    }

    /// Returns the thread for the next connection, one of the first `count`: the calling thread, or they take turns.
    ///
    /// A task that prefers a service thread as its executor has its connections there.
    ///
    /// A thread that could not start is created again: the resource that was missing may be available.
    func service(among count: Int) -> Service {
        let count = max(1, min(count, Self.threadLimit))
        return self.state.withLock { state in
            for index in 0..<count {
                if let service = state.services[index], service.isCurrent { return service }
            }
            let index = state.dealt % count
            state.dealt &+= 1
            if let service = state.services[index], !service.hasFailed { return service }
            let service = Service(resolver: self.resolver)
            state.services[index] = service
            return service
        }
    }
}
