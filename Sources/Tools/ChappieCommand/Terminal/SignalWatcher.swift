// Signals as calls on an ordinary thread, where the restrictions of signal handlers do not apply.
import Dispatch
import PlatformC
import Synchronization

/// Watches for signals while it exists, in place of the system's action, which is restored afterwards.
///
/// Owned by the command that waits.
final class SignalWatcher: Sendable {
    private let counter: Atomic<Int>
    // - Safety: the sources are set once, in the initialiser, and a dispatch source may be used from any thread.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]
    /// The signals' previous actions.
    private let actions: [(CInt, sig_t?)]

    /// The number of signals that have arrived.
    var count: Int { self.counter.load(ordering: .acquiring) }

    /// Calls `receive` for every signal, on a thread of Dispatch, with the number of signals so far, this one included.
    ///
    /// It returns when the signals are watched: until then they are ignored, and the action that Dispatch sets would
    /// outlast a watcher that is released by then.
    init(_ signals: [CInt], receive: @escaping @Sendable (Int) -> Void) {
        self.counter = Atomic(0)
        let queue = DispatchQueue(label: "chappie.signals")
        // The default action must not run; Dispatch takes the signal whether it is ignored or not.
        self.actions = signals.map { ($0, signal($0, SIG_IGN)) }
        unsafe self.sources = signals.map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        let registrations = DispatchGroup()
        for source in unsafe self.sources {
            registrations.enter()
            source.setRegistrationHandler { registrations.leave() }
            source.setEventHandler { [weak self] in
                guard let self else { return }
                receive(self.counter.add(1, ordering: .acquiringAndReleasing).newValue)
            }
            source.resume()
        }
        registrations.wait()
    }

    /// Interrupts the wait for the reader of the output and calls `stop` with the first SIGINT or SIGTERM; ends the
    /// process with a second one, and when it has not ended by itself soon.
    convenience init(interrupting patience: OutputPatience, _ stop: @escaping @Sendable () -> Void) {
        self.init([SIGINT, SIGTERM]) { count in
            guard count == 1 else { _exit(ExitCode.interrupted.rawValue) }
            patience.interrupt()
            // A write that is blocked in the system, such as one to a stopped terminal, cannot be interrupted.
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(900)) {
                _exit(ExitCode.interrupted.rawValue)
            }
            stop()
        }
    }

    deinit {
        for source in unsafe self.sources { source.cancel() }
        for (number, action) in self.actions { signal(number, action) }
    }
}
