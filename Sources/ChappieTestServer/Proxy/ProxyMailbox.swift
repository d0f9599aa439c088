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
    private let writer: CInt
    /// The descriptor that becomes readable when there is a message.
    let reader: CInt

    /// Makes the pipe.
    init() throws(FaultProxy.StartError) {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .cannotListen(code: errno) }
        (self.reader, self.writer) = (ends[0], ends[1])
        for end in ends { ProxySocket.prepare(end) }
    }

    deinit {
        close(self.reader)
        close(self.writer)
    }

    /// Ends the loop.
    func stop() { self.post { $0.isStopping = true } }

    /// Looks a server up on a thread of its own and posts the result; returns false when there is no thread.
    func lookUp(_ endpoint: FaultProxy.Endpoint) -> Bool {
        let thread = ServerThread.start {
            // The thread is not joined: a look-up may outlive the proxy.
            pthread_detach(pthread_self())
            let addresses = ProxyAddress.all(of: endpoint)
            self.post { $0.addresses = addresses }
        }
        return thread != nil
    }

    /// Takes the messages.
    func take() -> Messages {
        var scratch = [UInt8](repeating: 0, count: 64)
        while read(self.reader, &scratch, scratch.count) > 0 {}
        return self.messages.withLock { messages in
            defer { messages.addresses = nil }
            return messages
        }
    }

    private func post(_ change: (inout Messages) -> Void) {
        self.messages.withLock { change(&$0) }
        var byte: UInt8 = 0
        // A full pipe wakes the loop as well.
        _ = write(self.writer, &byte, 1)
    }
}
