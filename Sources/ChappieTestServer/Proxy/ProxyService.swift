// The proxy's thread, as its user controls it.
//
// Shared by the user's threads; the thread itself owns all other state.

/// Starts and ends the thread that relays.
final class ProxyService: Sendable {
    private let mailbox: ProxyMailbox
    private let thread: Monitor<ServerThread?>

    /// The TCP port.
    let port: Int

    /// Listens, and starts the thread.
    init(configuration: FaultProxy.Configuration, log: ProxyLog) throws(FaultProxy.StartError) {
        let mailbox = try ProxyMailbox()
        let listener = try ProxyListener(port: configuration.port)
        let thread = ServerThread.start {
            var loop = ProxyLoop(configuration: configuration, listener: listener, mailbox: mailbox, log: log)
            loop.run()
        }
        guard let thread else {
            listener.closeDescriptor()
            throw .noThread
        }
        self.port = listener.port
        self.mailbox = mailbox
        self.thread = Monitor(thread)
    }

    /// Ends the thread, which closes every socket; later calls have no effect.
    func stop() {
        self.mailbox.stop()
        // A second caller waits for the lock, and so for the end of the thread.
        self.thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}
