// Work that Ctrl-C cancels.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Runs work that signals cancel.
enum InterruptibleWork {
    /// Runs it to its end; SIGINT and SIGTERM cancel it, a second one ends the process.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let work = Task { try await body() }
        let watcher = SignalWatcher([SIGINT, SIGTERM]) { count in
            guard count == 1 else { _exit(ExitCode.interrupted.rawValue) }
            work.cancel()
        }
        defer { withExtendedLifetime(watcher) {} }
        return try await work.value
    }
}
