// The faults of a fault proxy, as values.
//
// Immutable values without an owner. Their JSON form is in `FaultProxy+PlanCoding.swift`.

extension FaultProxy {
    /// The faults of a proxy.
    ///
    /// A connection's faults apply in the order of their bytes; at the same byte, in the order of the plan.
    package struct Plan: Hashable, Sendable {
        /// The faults; empty for a proxy that only relays.
        package var faults: [Fault]

        /// Creates a plan of some faults.
        package init(_ faults: [Fault] = []) { self.faults = faults }
    }

    /// The direction of bytes.
    package enum Direction: String, Hashable, Sendable, CaseIterable {
        /// From the client to the server.
        case toServer
        /// From the server to the client.
        case toClient
    }

    /// One fault, and the connections that it applies to.
    ///
    /// Connections count from 1 over the proxy's life, in the order in which they are accepted.
    package struct Fault: Hashable, Sendable {
        /// The first connection that it applies to.
        package var firstConnection: Int
        /// The last connection that it applies to; nil is all later ones.
        package var lastConnection: Int?
        /// The direction in which bytes are counted; ignored for a fault that counts none.
        package var direction: Direction
        /// The action of the fault.
        package var action: ConnectionFault

        /// Creates a fault for some connections.
        package init(_ action: ConnectionFault, connections: ClosedRange<Int>, direction: Direction = .toClient) {
            self.action = action
            self.firstConnection = connections.lowerBound
            self.lastConnection = connections.upperBound
            self.direction = direction
        }

        /// Creates a fault for a connection and all later ones; for every one when `first` is not given.
        package init(_ action: ConnectionFault, from first: Int = 1, direction: Direction = .toClient) {
            self.action = action
            self.firstConnection = first
            self.direction = direction
        }

        /// Returns whether the fault applies to a connection.
        package func applies(toConnection number: Int) -> Bool {
            number >= self.firstConnection && number <= self.lastConnection ?? Int.max
        }
    }
}
