// Threads of the C library.

/// One thread.
///
/// - Safety: the identifier is a number or a pointer that every thread may use, and does not change.
package struct SystemThread: @unchecked Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let identifier: pthread_t

    /// Starts a thread, with a stack of this size or the system's own; nil when the system cannot create one.
    ///
    /// The caller joins it, or detaches it.
    package static func start(stackByteCount: Int? = nil, _ run: @escaping @Sendable () -> Void) -> Self? {
        guard let stackByteCount else { return unsafe Self.start(with: nil, run) }
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setstacksize(&attributes, stackByteCount)
        return unsafe Self.start(with: &attributes, run)
    }

    private static func start(
        with attributes: UnsafePointer<pthread_attr_t>?, _ run: @escaping @Sendable () -> Void
    ) -> Self? {
        let body = unsafe Unmanaged.passRetained(Body(run))
        #if canImport(Darwin)
            var created: pthread_t?
            let code = unsafe pthread_create(&created, attributes, { unsafe Self.enter($0) }, body.toOpaque())
            let identifier = created
        #else
            var created = pthread_t()
            let code = unsafe pthread_create(&created, attributes, { unsafe Self.enter($0) }, body.toOpaque())
            let identifier: pthread_t? = created
        #endif
        guard code == 0, let identifier else {
            unsafe body.release()
            return nil
        }
        return Self(identifier: identifier)
    }

    /// Starts a detached thread (`pthread_detach`); returns false when the system cannot create one.
    package static func startDetached(_ run: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = Self.start(run) else { return false }
        thread.detach()
        return true
    }

    private static func enter(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        if let argument = unsafe argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
    }

    /// Waits until the thread has ended.
    ///
    /// Call it once.
    package func join() { pthread_join(self.identifier, nil) }

    /// Lets the thread end by itself, in place of `join`.
    package func detach() { pthread_detach(self.identifier) }

    /// A number of the calling thread, which is not 0 and unique among the threads that run.
    package static var currentNumber: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    /// Suspends the calling thread for a duration, or until a signal arrives.
    package static func pause(for duration: Duration) {
        let (seconds, attoseconds) = max(.zero, duration).components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        unsafe nanosleep(&time, nil)
    }
}
