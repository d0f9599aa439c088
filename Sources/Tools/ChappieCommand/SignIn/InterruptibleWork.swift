// Work that Ctrl-C cancels.
import PlatformC

/// Runs work that signals cancel.
enum InterruptibleWork {
    /// Runs it to its end; SIGINT and SIGTERM call `interrupted` and cancel it, a second one ends the process.
    static func run<Value: Sendable>(
        interrupted: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // The signals are watched before the work begins: a user who is shown a code may press Ctrl-C at once.
        let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
        let watcher = SignalWatcher([SIGINT, SIGTERM]) { count in
            guard count == 1 else { _exit(ExitCode.interrupted.rawValue) }
            interrupted()
            continuation.yield()
        }
        defer { withExtendedLifetime(watcher) {} }
        let work = Task { try await body() }
        let listener = Task { for await _ in signals { work.cancel() } }
        defer { listener.cancel() }
        return try await work.value
    }
}
