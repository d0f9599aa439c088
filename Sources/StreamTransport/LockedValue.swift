#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value that several threads share, behind a lock held for a few lines.
///
/// A pthread mutex, because the thread sanitizer cannot follow the standard library's `Mutex`.
/// - Safety: `value` is touched between lock and unlock only, and the mutex has an address of its own.
@safe package final class LockedValue<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Behind a pointer, because the lock is all the exclusivity that is needed.
    ///
    /// For whoever has called `lock()`, until `unlock()`.
    package let value: UnsafeMutablePointer<Value>

    /// Guards a value.
    package init(_ value: sending Value) {
        unsafe self.mutex = .allocate(capacity: 1)
        unsafe self.mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(self.mutex, nil)
        unsafe self.value = .allocate(capacity: 1)
        unsafe self.value.initialize(to: value)
    }

    deinit {
        unsafe pthread_mutex_destroy(self.mutex)
        unsafe self.mutex.deallocate()
        unsafe self.value.deinitialize(count: 1)
        unsafe self.value.deallocate()
    }

    /// Runs `body` with the value, alone.
    ///
    /// No waiting, no callback and no other lock in there.
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        self.lock()
        defer { self.unlock() }
        return unsafe try body(&self.value.pointee)
    }

    /// Waits until nobody else has the lock, and takes it.
    package func lock() { unsafe pthread_mutex_lock(self.mutex) }

    /// Gives the lock back.
    package func unlock() { unsafe pthread_mutex_unlock(self.mutex) }
}
