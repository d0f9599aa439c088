// For `Thread`, which is in the whole of it alone.
import Dispatch
import Foundation
import StreamTransport

/// What the listener's thread is told by others, and how it is woken.
final class CallbackMailbox: Sendable {
    /// What the thread is to do.
    struct Orders: Sendable {
        /// The page for whoever waits for the end of the sign-in; no new connections are taken then.
        var page: CallbackPage?
        /// Indicates whether it ends at once.
        var isStopping = false
    }

    private let state = LockedValue(Orders())
    private let wake: CallbackWake

    init(wake: CallbackWake) { self.wake = wake }

    deinit { self.wake.close() }

    /// What there is to do at this moment.
    var orders: Orders { self.state.withLock { $0 } }

    /// What `poll` looks at.
    var wakeDescriptor: CInt { self.wake.reader }

    /// Changes the orders, and wakes the thread.
    func give(_ change: (inout Orders) -> Void) {
        self.state.withLock { change(&$0) }
        self.wake.wake()
    }

    /// Takes out what woke the thread.
    func drain() { self.wake.drain() }
}

/// Listens on 127.0.0.1 for a browser's return, on a thread of its own.
///
/// It may be used from any task; one task waits for the outcome. The thread never waits for anything but `poll`, so
/// that whoever waits for its end waits for a moment only.
final class CallbackListener: Sendable {
    /// Why nobody listens.
    enum Failure: Error, Equatable {
        /// Somebody else does.
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

    /// Listens for whoever knows the state; port 0 is any.
    init(port: UInt16, state: String, limits: CallbackLoop.Limits = CallbackLoop.Limits()) throws(Failure) {
        guard let wake = CallbackWake() else { throw .refused(code: errno) }
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
        // It must not keep the listener: dropping that is what ends it.
        Thread.detachNewThread {
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
    }

    deinit { self.stop() }

    /// What the browser has come back with so far.
    var currentOutcome: CallbackOutcome? { self.outcome.withLock { $0 } }

    /// Waits for what the browser comes back with; nil when nobody listens any more, or the task is cancelled.
    ///
    /// For one task, once.
    func nextOutcome() async -> CallbackOutcome? {
        for await outcome in self.outcomes { return outcome }
        return nil
    }

    /// Gives the page to the browser that waits for it, and returns when nobody listens any more and the browser has
    /// the page, or does not take it within a second or so.
    func finish(_ page: CallbackPage) async {
        self.mailbox.give { $0.page = $0.page ?? page }
        for await _ in self.ends {}
        self.stop()
    }

    /// Ends it at once; when it returns, nobody listens any more.
    ///
    /// Whoever still waits for the end of the sign-in is given the page as far as that goes without waiting. May be
    /// called again.
    func stop(_ page: CallbackPage = .cancelled) {
        self.mailbox.give { orders in
            orders.page = orders.page ?? page
            orders.isStopping = true
        }
        self.ended.wait()
        // For the next one who waits.
        self.ended.signal()
    }
}
