// The fault proxy's public interface: start, address, log, stop.
//
// Owned by its creator. Its one thread ends in `stop()`.
import PlatformC

/// A relay on 127.0.0.1 in front of any server, that can break connections at an exact byte.
///
/// ```swift
/// let server = try ChappieTestServer()
/// let proxy = try FaultProxy(
///     upstream: .init(host: "127.0.0.1", port: server.port),
///     plan: .init([.init(.cut(atByte: 700, with: .reset), connections: 1...1)]))
/// defer { proxy.stop() }
/// // … point a client at proxy.baseURL() …
/// _ = await proxy.reached(.strikes(1))
/// ```
///
/// It works on TCP's level and does not interpret the relayed bytes: HTTP, WebSocket and TLS pass unchanged. Each
/// connection of a client is relayed over one to the server; bytes are counted in each direction from the first one.
/// One thread serves all connections, and at most 64 KiB of each direction are buffered.
package final class FaultProxy: Sendable {
    private let log: ProxyLog
    private let mailbox: ProxyMailbox
    private let thread: Monitor<SystemThread?>

    /// The TCP port.
    package let port: Int

    /// Binds, listens and starts to relay; throws `ChappieTestServer.StartError`, or `FormError` for an impossible plan.
    ///
    /// The server need not be running yet: it is looked up and connected to for each connection.
    package init(configuration: Configuration) throws {
        try configuration.plan.validate()
        let log = ProxyLog(maximumRecordCount: configuration.maximumRecordCount, logLine: configuration.logLine)
        let mailbox = try ProxyMailbox()
        let listener = try ProxyListener(port: configuration.port)
        let thread = SystemThread.startSmall {
            var loop = ProxyLoop(configuration: configuration, listener: listener, mailbox: mailbox, log: log)
            loop.run()
        }
        guard let thread else {
            listener.closeDescriptor()
            throw ChappieTestServer.StartError.noThread
        }
        (self.log, self.mailbox, self.port) = (log, mailbox, listener.port)
        self.thread = Monitor(thread)
    }

    /// Starts a proxy with the defaults in front of a server; throws as `init(configuration:)` does.
    package convenience init(upstream: Endpoint, port: UInt16 = 0, plan: Plan = Plan()) throws {
        var configuration = Configuration(upstream: upstream, plan: plan)
        configuration.port = port
        try self.init(configuration: configuration)
    }

    deinit { self.stop() }

    /// The authority of the proxy's URLs: `127.0.0.1:8080`.
    package var authority: String { "127.0.0.1:\(self.port)" }

    /// Returns the base URL for clients, such as `http://127.0.0.1:8080/v1`.
    ///
    /// Scheme and path are the server's: the proxy changes neither.
    package func baseURL(scheme: String = "http", path: String = "/v1") -> String {
        "\(scheme)://\(self.authority)\(path)"
    }

    /// The records of the connections; the oldest are dropped beyond `Configuration.maximumRecordCount`.
    package var connections: [ConnectionRecord] { self.log.records }

    /// Removes the records.
    ///
    /// The counts of connections and milestones continue.
    package func clearLog() { self.log.removeRecords() }

    /// Closes the listener and all connections, and returns when the thread has ended.
    ///
    /// May be called again.
    package func stop() {
        self.mailbox.stop()
        // A second caller waits for the lock, and so for the end of the thread.
        self.thread.withLock { thread in
            thread?.join()
            thread = nil
        }
        self.log.milestones.stop()
    }

    /// Suspends until a milestone is reached; returns false when the proxy stops or the task is cancelled first.
    @discardableResult
    package func reached(_ milestone: Milestone) async -> Bool { await self.log.milestones.wait(for: milestone) }

    /// Blocks until a milestone is reached; returns false when the proxy stops first.
    ///
    /// It is for threads of a test; tasks use `reached(_:)`.
    @discardableResult
    package func waitBlocking(for milestone: Milestone) -> Bool { self.log.milestones.waitBlocking(for: milestone) }
}
