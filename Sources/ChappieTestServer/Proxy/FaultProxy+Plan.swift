// What a fault proxy does wrong, as values.
//
// Immutable; nobody owns them. Their JSON form is in the file beside this one.

extension FaultProxy {
    /// The faults of a proxy.
    ///
    /// A connection's faults act in the order of their bytes; at the same byte, in the order of the plan.
    public struct Plan: Hashable, Sendable {
        /// What goes wrong; empty for a proxy that only relays.
        public var faults: [Fault]

        /// Makes a plan of some faults.
        public init(_ faults: [Fault] = []) { self.faults = faults }
    }

    /// Where bytes go.
    public enum Direction: String, Codable, Hashable, Sendable, CaseIterable {
        /// From the client to the server.
        case toServer
        /// From the server to the client.
        case toClient
    }

    /// One thing that goes wrong, and for which connections.
    ///
    /// Connections count from 1 over the proxy's life, in the order in which they are accepted.
    public struct Fault: Hashable, Sendable {
        /// The first connection that it applies to.
        public var firstConnection: Int
        /// The last connection that it applies to; nil is all that follow.
        public var lastConnection: Int?
        /// The direction in which bytes are counted; of no meaning for a fault that counts none.
        public var direction: Direction
        /// What goes wrong.
        public var action: Action

        /// A fault for some connections.
        public init(_ action: Action, connections: ClosedRange<Int>, direction: Direction = .toClient) {
            self.action = action
            self.firstConnection = connections.lowerBound
            self.lastConnection = connections.upperBound
            self.direction = direction
        }

        /// A fault for a connection and all that follow; for every one when `first` is not given.
        public init(_ action: Action, from first: Int = 1, direction: Direction = .toClient) {
            self.action = action
            self.firstConnection = first
            self.direction = direction
        }

        /// Returns whether the fault applies to a connection.
        public func applies(toConnection number: Int) -> Bool {
            number >= self.firstConnection && number <= self.lastConnection ?? Int.max
        }
    }

    /// What goes wrong.
    ///
    /// Byte `n` is the one before which exactly `n` bytes went in the fault's direction, counted from the connection's
    /// first. A fault at byte `n` strikes as soon as those `n` are delivered; it does not wait for the next one.
    /// TLS's own bytes count: the proxy does not look into what it relays.
    public enum Action: Hashable, Sendable {
        /// Deliver `atByte` bytes and then the end of the stream (FIN), in this direction only.
        ///
        /// The other direction goes on. What the sender still sends is read and dropped, so that it is not held up;
        /// once the receiver has closed as well, the sender is reset, as the receiver's system would.
        case cut(atByte: Int)
        /// Deliver `atByte` bytes, then reset the connection (RST) on both sides.
        ///
        /// The reset waits until the receiver's system has acknowledged all `atByte` bytes. A program on Linux reads
        /// them before it sees the reset; other systems may drop what was not read yet. The sender's side is reset
        /// at the same moment, whatever the other direction still had to deliver.
        case reset(atByte: Int)
        /// Deliver `atByte` bytes, then fall silent in both directions and keep both sockets open.
        ///
        /// Nothing more is read, written or closed, as behind a router that has lost its table. Peers that leave are
        /// not answered. The sockets are closed by `stop()`, or when a new connection needs their place.
        case halfOpen(atByte: Int)
        /// Deliver `atByte` bytes, then nothing in this direction for a while; for ever when there is no duration.
        ///
        /// The sender is held up once the buffers are full. The other direction goes on.
        case stall(atByte: Int, for: Duration? = nil)
        /// Deliver at most `byteCount` bytes a write from a byte on.
        ///
        /// Every write is a segment of its own (`TCP_NODELAY`) as long as the receiver keeps up.
        case slice(byteCount: Int, fromByte: Int = 0)
        /// Deliver at most so many bytes a second from a byte on.
        case throttle(bytesPerSecond: Double, fromByte: Int = 0)
        /// Change the byte after `atByte` bytes: its bits are flipped where the mask has ones.
        case corrupt(atByte: Int, mask: UInt8 = 0xFF)
        /// Accept the connection and reset it at once; the server never hears of it.
        ///
        /// To a client this is as near to a refused connection as one port can come that serves other connections.
        case refuse
        /// Accept the connection and never answer; the server never hears of it.
        case silence
        /// Connect to the server only after a while; several of them add up.
        case delay(Duration)
    }
}

extension FaultProxy.Action {
    /// The name, as plans and logs have it.
    public var name: String {
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

    /// How many bytes go before it strikes; nil for what concerns a connection as a whole.
    public var byteOffset: Int? {
        switch self {
        case .cut(let offset), .reset(let offset), .halfOpen(let offset), .stall(let offset, _),
            .slice(_, let offset), .throttle(_, let offset), .corrupt(let offset, _):
            offset
        case .refuse, .silence, .delay: nil
        }
    }
}
