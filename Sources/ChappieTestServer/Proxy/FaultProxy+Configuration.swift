// What a fault proxy is told before it starts.
//
// Immutable values; nobody owns them.

extension FaultProxy {
    /// A TCP port of a host.
    public struct Endpoint: Hashable, Sendable {
        /// A name, or a numeric address without brackets.
        public var host: String
        /// The port.
        public var port: Int

        /// Makes an endpoint.
        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// How a proxy relays, and what it breaks.
    public struct Configuration: Sendable {
        /// The server behind the proxy.
        public var upstream: Endpoint
        /// The TCP port on 127.0.0.1; 0 takes any free one.
        public var port: UInt16 = 0
        /// What goes wrong, and when.
        public var plan: Plan
        /// How many connections are relayed at a time; those beyond are reset at once.
        public var maximumConnectionCount = 1024
        /// How many records `connections` keeps; older ones are dropped.
        public var maximumRecordCount = 10_000
        /// Called with one JSON object for each thing that happens, on the proxy's thread.
        public var logLine: (@Sendable (String) -> Void)?

        /// The defaults in front of a server.
        public init(upstream: Endpoint, plan: Plan = Plan()) {
            self.upstream = upstream
            self.plan = plan
        }
    }

    /// Why a proxy did not start.
    public enum StartError: Error, Hashable, Sendable {
        /// No socket could be bound and listened on; the value is `errno`.
        case cannotListen(code: Int32)
        /// The system has no thread left.
        case noThread
    }
}
