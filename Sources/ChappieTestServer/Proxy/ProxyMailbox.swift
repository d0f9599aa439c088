// What other threads tell the proxy's loop, and the pipe that wakes it.
//
// Shared by the proxy's user, the loop, and a thread that looks a name up; one lock guards it.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Carries messages to the loop.
///
/// The pipe lives as long as anyone holds the mailbox, so that a late look-up writes to nobody else's descriptor.
final class ProxyMailbox: Sendable {
    /// What the loop finds.
    struct Messages: Sendable {
        /// Indicates whether the loop has to end.
        var isStopping = false
        /// What a look-up gave; nil when none has ended.
        var addresses: [ProxyAddress]?
    }

    private let messages = Monitor(Messages())
    private let writer: CInt
    /// Becomes readable when there is something.
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

    /// Looks a server up on a thread of its own and posts what it finds; false when there is no thread.
    func lookUp(_ endpoint: FaultProxy.Endpoint) -> Bool {
        let thread = ServerThread.start {
            // Nobody joins it: a look-up may take longer than the proxy lives.
            pthread_detach(pthread_self())
            let addresses = ProxyAddress.all(of: endpoint)
            self.post { $0.addresses = addresses }
        }
        return thread != nil
    }

    /// Takes what is there.
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
        // A full pipe wakes as well.
        _ = write(self.writer, &byte, 1)
    }
}
