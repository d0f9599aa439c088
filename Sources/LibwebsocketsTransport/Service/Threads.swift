import PlatformC

/// Starts a detached thread; returns false when the system has none left.
func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let entry = Unmanaged.passRetained(ThreadEntry(body: body))
    #if canImport(Glibc)
        var thread = pthread_t()
    #else
        var thread: pthread_t?
    #endif
    let code = pthread_create(&thread, nil, runThread, entry.toOpaque())
    guard code == 0 else {
        entry.release()
        return false
    }
    #if canImport(Glibc)
        pthread_detach(thread)
    #else
        if let thread { pthread_detach(thread) }
    #endif
    return true
}

/// The body of a new thread, passed through `pthread_create`'s pointer.
private final class ThreadEntry: Sendable {
    let body: @Sendable () -> Void

    init(body: @escaping @Sendable () -> Void) {
        self.body = body
    }
}

#if canImport(Glibc)
    private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else { return nil }
        Unmanaged<ThreadEntry>.fromOpaque(argument).takeRetainedValue().body()
        return nil
    }
#else
    private func runThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<ThreadEntry>.fromOpaque(argument).takeRetainedValue().body()
        return nil
    }
#endif

/// Returns a number of the calling thread, which is not 0 and unique among the threads that run.
func currentThreadNumber() -> UInt {
    #if canImport(Glibc)
        UInt(pthread_self())
    #else
        UInt(bitPattern: pthread_self())
    #endif
}

/// Suspends the calling thread for a duration, or until a signal arrives.
func pauseThread(for duration: Duration) {
    let (seconds, attoseconds) = max(.zero, duration).components
    var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    nanosleep(&time, nil)
}
