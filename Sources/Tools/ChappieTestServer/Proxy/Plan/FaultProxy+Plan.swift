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
    package enum Direction: String, Codable, Hashable, Sendable, CaseIterable {
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
        package var action: Action

        /// Creates a fault for some connections.
        package init(_ action: Action, connections: ClosedRange<Int>, direction: Direction = .toClient) {
            self.action = action
            self.firstConnection = connections.lowerBound
            self.lastConnection = connections.upperBound
            self.direction = direction
        }

        /// Creates a fault for a connection and all later ones; for every one when `first` is not given.
        package init(_ action: Action, from first: Int = 1, direction: Direction = .toClient) {
            self.action = action
            self.firstConnection = first
            self.direction = direction
        }

        /// Returns whether the fault applies to a connection.
        package func applies(toConnection number: Int) -> Bool {
            number >= self.firstConnection && number <= self.lastConnection ?? Int.max
        }
    }

    /// The action of a fault.
    ///
    /// Byte `n` is the one before which exactly `n` bytes were delivered in the fault's direction, counted from the
    /// connection's first. A fault at byte `n` applies as soon as those `n` are delivered; it does not wait for the
    /// next one. TLS's own bytes count: the proxy does not interpret what it relays.
    package enum Action: Hashable, Sendable {
        /// Deliver `atByte` bytes and then the end of the stream (FIN), in this direction only.
        ///
        /// The other direction continues. Further bytes of the sender are read and dropped, so that it is not blocked;
        /// once the receiver has closed as well, the sender is reset, as the receiver's system would.
        case cut(atByte: Int)
        /// Deliver `atByte` bytes, then reset the connection (RST) on both sides.
        ///
        /// The reset waits until the receiver's system has acknowledged all `atByte` bytes. A program on Linux reads
        /// them before it sees the reset; other systems may drop unread bytes. The sender's side is reset at the same
        /// moment, whatever the other direction still had to deliver.
        case reset(atByte: Int)
        /// Deliver `atByte` bytes, then stop in both directions and keep both sockets open.
        ///
        /// No further byte is read or written and no socket closed, as behind a router that has lost its table. Peers
        /// that leave are not answered. The sockets are closed by `stop()`, or when a new connection needs their place.
        case halfOpen(atByte: Int)
        /// Deliver `atByte` bytes, then none in this direction for a duration; without end when there is no duration.
        ///
        /// The sender is blocked once the buffers are full. The other direction continues.
        case stall(atByte: Int, for: Duration? = nil)
        /// Deliver at most `byteCount` bytes a write from a byte on.
        ///
        /// Every write is a segment of its own (`TCP_NODELAY`) as long as the receiver keeps up.
        case slice(byteCount: Int, fromByte: Int = 0)
        /// Deliver at most this number of bytes per second from a byte on.
        case throttle(bytesPerSecond: Double, fromByte: Int = 0)
        /// Change the byte after `atByte` bytes: its bits are flipped where the mask has ones.
        case corrupt(atByte: Int, mask: UInt8 = 0xFF)
        /// Accept the connection and reset it at once; the server is not connected to.
        ///
        /// For a client this is the nearest equivalent of a refused connection on a port that serves other connections.
        case refuse
        /// Accept the connection and never answer; the server is not connected to.
        case silence
        /// Connect to the server only after a duration; several of them add up.
        case delay(Duration)
    }
}

extension FaultProxy.Action {
    /// The name in plans and logs.
    package var name: String {
        switch self {
        case .cut: "cut"
        case .reset: "reset"
        case .halfOpen: "halfOpen"
        case .stall: "stall"
        case .slice: "slice"
        case .throttle: "throttle"
        case .corrupt: "corrupt"
        case .refuse: "refuse"
        case .silence: "silence"
        case .delay: "delay"
        }
    }

    /// The number of bytes before the fault; nil for a fault of a connection as a whole.
    package var byteOffset: Int? {
        switch self {
        case .cut(let offset), .reset(let offset), .halfOpen(let offset), .stall(let offset, _),
            .slice(_, let offset), .throttle(_, let offset), .corrupt(let offset, _):
            offset
        case .refuse, .silence, .delay: nil
        }
    }
}
