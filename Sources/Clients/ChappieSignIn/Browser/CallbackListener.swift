import Dispatch
import PlatformC
import StreamTransport

/// The orders for the listener's thread, and the means to wake it.
final class CallbackMailbox: Sendable {
    /// The orders for the thread.
    struct Orders: Sendable {
        /// The page for browsers that wait for the end of the sign-in; no new connections are accepted then.
        var page: CallbackPage?
        /// Indicates whether the thread ends at once.
        var isStopping = false
    }

    private let state = LockedValue(Orders())
    private let wake: WakePipe

    init(wake: WakePipe) { self.wake = wake }

    deinit { self.wake.close() }

    /// The current orders.
    var orders: Orders { self.state.withLock { $0 } }

    /// The descriptor that `poll` watches.
    var wakeDescriptor: CInt { self.wake.reader }

    /// Changes the orders, and wakes the thread.
    func give(_ change: (inout Orders) -> Void) {
        self.state.withLock { change(&$0) }
        self.wake.wake()
    }

    /// Removes the wake-ups.
    func drain() { self.wake.drain() }
}

/// Listens on 127.0.0.1 for a browser's return, on a thread of its own.
///
/// It may be used from any task; one task waits for the outcome. The thread waits only in `poll`, so that a wait for
/// its end is short.
final class CallbackListener: Sendable {
    /// The reason for which listening failed.
    enum Failure: Error, Equatable {
        /// Another program listens on the port.
        case portInUse
        /// The system refused, with this `errno`.
        case refused(code: CInt)
    }

    /// The port.
    let port: UInt16

    private let mailbox: CallbackMailbox
    private let outcomes: AsyncStream<CallbackOutcome>
    private let outcome = LockedValue<CallbackOutcome?>(nil)
    private let ends: AsyncStream<Void>
    private let ended = DispatchSemaphore(value: 0)

    /// Listens for a browser that has the state; port 0 is any.
    init(port: UInt16, state: String, limits: CallbackLoop.Limits = CallbackLoop.Limits()) throws(Failure) {
        guard let wake = WakePipe() else { throw .refused(code: errno) }
        let mailbox = CallbackMailbox(wake: wake)
        let socket: CallbackSocket
        do throws(CallbackSocket.Failure) {
            (socket, self.port) = try CallbackSocket.listen(port: port)
        } catch {
            throw error.code == EADDRINUSE ? .portInUse : .refused(code: error.code)
        }
        let (outcomes, outcomeContinuation) = AsyncStream<CallbackOutcome>.makeStream()
        let (ends, endContinuation) = AsyncStream<Void>.makeStream()
        (self.mailbox, self.outcomes, self.ends) = (mailbox, outcomes, ends)
        let (port, outcome, ended) = (self.port, self.outcome, self.ended)
        // The thread must not keep the listener alive: dropping the listener ends it.
        let isStarted = SystemThread.startDetached {
            var loop = CallbackLoop(
                listener: socket, mailbox: mailbox, machine: CallbackStateMachine(port: port, state: state),
                limits: limits
            ) { value in
                outcome.withLock { $0 = value }
                outcomeContinuation.yield(value)
            }
            loop.run()
            outcomeContinuation.finish()
            endContinuation.finish()
            ended.signal()
        }
        guard isStarted else {
            socket.close()
            ended.signal()
            throw .refused(code: EAGAIN)
        }
    }

    deinit { self.stop() }

    /// The outcome of the browser's return so far.
    var currentOutcome: CallbackOutcome? { self.outcome.withLock { $0 } }

    /// Waits for the outcome of the browser's return; nil when the listener has ended, or the task is cancelled.
    ///
    /// It may be called by one task, once.
    func nextOutcome() async -> CallbackOutcome? {
        for await outcome in self.outcomes { return outcome }
        return nil
    }

    /// Sends the page to the browser that waits for it, and returns when the listener has ended and the browser has the
    /// page, or has not accepted it within about a second.
    func finish(_ page: CallbackPage) async {
        self.mailbox.give { $0.page = $0.page ?? page }
        for await _ in self.ends {}
        self.stop()
    }

    /// Ends the listener at once; when it returns, the port is closed.
    ///
    /// A browser that still waits for the end of the sign-in is sent the page if that is possible without waiting. It
    /// may be called again.
    func stop(_ page: CallbackPage = .cancelled) {
        self.mailbox.give { orders in
            orders.page = orders.page ?? page
            orders.isStopping = true
        }
        self.ended.wait()
        // For the next waiting call.
        self.ended.signal()
    }
}
