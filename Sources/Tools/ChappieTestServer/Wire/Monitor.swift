// A lock with a condition around one value, and threads with a small stack.
//
// Owned by the owner of the state that connection threads share. It is a pthread mutex because the thread sanitizer can
// follow that one.
import PlatformC

/// A value that several threads share, and a way to wait until it changes.
///
/// - Safety: `state` is only touched while `mutex` is held.
final class Monitor<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    /// Takes the value that it guards.
    init(_ state: State) {
        self.state = state
        self.mutex = .allocate(capacity: 1)
        self.mutex.initialize(to: pthread_mutex_t())
        self.condition = .allocate(capacity: 1)
        self.condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(self.mutex, nil)
        pthread_cond_init(self.condition, nil)
    }

    deinit {
        pthread_cond_destroy(self.condition)
        pthread_mutex_destroy(self.mutex)
        self.condition.deallocate()
        self.mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the value.
    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(self.mutex)
        defer { pthread_mutex_unlock(self.mutex) }
        return try body(&self.state)
    }

    /// Runs `body` as `withLock` does, and wakes all waiting threads.
    func update<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(self.mutex)
        defer {
            pthread_cond_broadcast(self.condition)
            pthread_mutex_unlock(self.mutex)
        }
        return try body(&self.state)
    }

    /// Blocks until `body` returns a value; it is called again after every `update`.
    func wait<Result>(for body: (inout State) -> Result?) -> Result {
        pthread_mutex_lock(self.mutex)
        defer { pthread_mutex_unlock(self.mutex) }
        while true {
            if let result = body(&self.state) { return result }
            pthread_cond_wait(self.condition, self.mutex)
        }
    }
}

extension SystemThread {
    /// Starts a thread of the server; nil when the system has no more.
    ///
    /// The stack is small so that thousands of connections fit; instrumented builds need the half megabyte.
    static func startSmall(_ run: @escaping @Sendable () -> Void) -> Self? {
        Self.start(stackByteCount: 512 * 1024, run)
    }
}
