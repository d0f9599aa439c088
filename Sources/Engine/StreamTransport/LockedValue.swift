import PlatformC

/// A value that several threads share, behind a lock held for a few lines.
///
/// Copies share the value. A pthread mutex, because the thread sanitizer cannot follow the standard library's `Mutex`.
/// The mutex and the value are one allocation.
///
/// It is inlinable, because the other modules would otherwise call it as generic code, which finds types at run time
/// and passes values by reference, with each of an event's locks.
/// - Safety: `value` is accessed between lock and unlock only. Both pointers are valid as long as `storage` is: the header
///   and the elements of a `ManagedBuffer` do not move, although its documentation does not promise this.
@safe @usableFromInline package struct LockedValue<Value>: @unchecked Sendable {
    /// The mutex, with the value behind it: the beginning of a large value lies in the same cache line.
    @unsafe private final class Storage: ManagedBuffer<pthread_mutex_t, Value> {
        deinit {
            unsafe self.withUnsafeMutablePointers { mutex, value in
                unsafe value.deinitialize(count: 1)
                _ = unsafe pthread_mutex_destroy(mutex)
            }
        }
    }

    /// The owner of the memory.
    ///
    /// `extendLifetime` would look its full type's metadata up: 460 instructions of an event (`make budgets`, x86-64).
    @usableFromInline let storage: AnyObject
    @usableFromInline let mutex: MutexPointer
    /// The value, for a caller of `lock()` until its `unlock()`: the lock is all the exclusivity that is needed.
    @usableFromInline package let value: UnsafeMutablePointer<Value>

    /// Guards a value.
    package init(_ value: sending Value) {
        let storage = unsafe Storage.create(minimumCapacity: 1) { _ in unsafe pthread_mutex_t() }
        unsafe self.storage = storage
        let (mutex, pointer) = unsafe storage.withUnsafeMutablePointers { unsafe ($0, $1) }
        unsafe pointer.initialize(to: value)
        unsafe self.value = pointer
        unsafe pthread_mutex_init(mutex, nil)
        self.mutex = unsafe MutexPointer(mutex)
    }

    /// Runs `body` with the value, alone.
    ///
    /// No waiting, no callback and no other lock in there.
    @inlinable @inline(__always)
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        self.lock()
        defer { self.unlock() }
        return unsafe try body(&self.value.pointee)
    }

    /// Waits until the lock is free, and takes it.
    @inlinable
    package func lock() { self.mutex.lock() }

    /// Gives the lock back.
    @inlinable
    package func unlock() {
        self.mutex.unlock()
        // The pointers alone would not keep the memory of a local value.
        extendLifetime(self.storage)
    }
}

/// The address of a mutex.
///
/// It has no type parameter and hides the type of C, which an inlinable function of this package cannot name.
/// - Safety: its owner keeps the mutex alive.
@safe @usableFromInline
struct MutexPointer {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) { unsafe self.mutex = mutex }

    @usableFromInline
    func lock() { unsafe pthread_mutex_lock(self.mutex) }

    @usableFromInline
    func unlock() { unsafe pthread_mutex_unlock(self.mutex) }
}
