// The configuration of a fault proxy.
//
// Immutable values without an owner.

extension FaultProxy {
    /// A TCP port of a host.
    package struct Endpoint: Hashable, Sendable {
        /// A name, or a numeric address without brackets.
        package var host: String
        /// The port.
        package var port: Int

        /// Creates an endpoint.
        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// The relaying of a proxy, and its faults.
    package struct Configuration: Sendable {
        /// The server behind the proxy.
        package var upstream: Endpoint
        /// The TCP port on 127.0.0.1; 0 takes any free one.
        package var port: UInt16 = 0
        /// The faults.
        package var plan: Plan
        /// The largest number of relayed connections; further ones are reset at once.
        package var maximumConnectionCount = 1024
        /// The number of records that `connections` keeps; older ones are dropped.
        package var maximumRecordCount = 10_000
        /// Receives one JSON object for each event, on the proxy's thread.
        package var logLine: (@Sendable (String) -> Void)?

        /// Creates the defaults in front of a server.
        package init(upstream: Endpoint, plan: Plan = Plan()) {
            self.upstream = upstream
            self.plan = plan
        }
    }
}
