// The messages of other threads to the proxy's loop, and the pipe that wakes it.
//
// Shared by the proxy's user, the loop, and a thread that looks a name up; one lock guards it.
import PlatformC

/// Carries messages to the loop.
///
/// The pipe lives as long as the mailbox, so that a late look-up does not write to another file's descriptor.
final class ProxyMailbox: Sendable {
    /// The messages for the loop.
    struct Messages: Sendable {
        /// Indicates whether the loop has to end.
        var isStopping = false
        /// The result of a look-up; nil when none has ended.
        var addresses: [ProxyAddress]?
    }

    private let messages = Monitor(Messages())
    private let pipe: WakePipe
    /// The descriptor that becomes readable when there is a message.
    var reader: CInt { self.pipe.reader }

    /// Makes the pipe.
    init() throws(ChappieTestServer.StartError) {
        guard let pipe = WakePipe() else { throw .cannotListen(code: errno) }
        self.pipe = pipe
    }

    deinit { self.pipe.close() }

    /// Ends the loop.
    func stop() { self.post { $0.isStopping = true } }

    /// Looks a server up on a thread of its own and posts the result; returns false when there is no thread.
    func lookUp(_ endpoint: FaultProxy.Endpoint) -> Bool {
        let thread = SystemThread.startSmall {
            let addresses = ProxyAddress.all(of: endpoint)
            self.post { $0.addresses = addresses }
        }
        // The thread is not joined: a look-up may outlive the proxy.
        thread?.detach()
        return thread != nil
    }

    /// Takes the messages.
    func take() -> Messages {
        self.pipe.drain()
        return self.messages.withLock { messages in
            defer { messages.addresses = nil }
            return messages
        }
    }

    private func post(_ change: (inout Messages) -> Void) {
        self.messages.withLock { change(&$0) }
        self.pipe.wake()
    }
}
