// What a fault proxy remembers of a connection.
//
// Values; the proxy's log hands out copies.

extension FaultProxy {
    /// What went in one direction.
    public struct Traffic: Codable, Hashable, Sendable {
        /// The bytes read from the sender; those past a cut are read and dropped.
        public var receivedByteCount = 0
        /// The bytes handed to the receiver's socket.
        public var deliveredByteCount = 0
        /// The writes that it took.
        public var writeCount = 0
        /// Indicates whether the receiver got the end of the stream, from the sender or from a cut.
        public var isFinished = false
    }

    /// A fault that struck.
    public struct Strike: Codable, Hashable, Sendable {
        /// What struck.
        public var action: Action
        /// The direction in which bytes are counted; nil for what concerns a connection as a whole.
        public var direction: Direction?
        /// How many bytes had been delivered in that direction; nil as above.
        public var byteOffset: Int?
    }

    /// How a connection ended.
    public enum ConnectionEnd: Codable, Hashable, Sendable {
        /// Both directions ended in order.
        case closed
        /// It was reset, by a fault or by a peer.
        case reset
        /// A fault refused it.
        case refused
        /// There were as many connections as are allowed.
        case tooMany
        /// The server could not be connected to; the value is `errno`.
        case unreachable(code: Int32)
        /// The server's name has no address.
        case unknownHost
        /// A silent connection whose peers had left made place for another one.
        case replaced
        /// The proxy stopped.
        case stopped
    }

    /// One connection as the proxy saw it.
    public struct ConnectionRecord: Codable, Hashable, Sendable {
        /// The connection's number, from 1.
        public var number: Int
        /// Indicates whether the server was connected to.
        public var isConnected = false
        /// What went from the client to the server.
        public var toServer = Traffic()
        /// What went from the server to the client.
        public var toClient = Traffic()
        /// The faults that struck, in order.
        public var strikes: [Strike] = []
        /// How it ended; nil while it is open.
        public var end: ConnectionEnd?

        /// What went in a direction.
        public subscript(_ direction: Direction) -> Traffic {
            get { direction == .toServer ? self.toServer : self.toClient }
            set { if direction == .toServer { self.toServer = newValue } else { self.toClient = newValue } }
        }
    }

    /// Something to wait for, counted over the proxy's life.
    public enum Milestone: Hashable, Sendable {
        /// So many connections were accepted, those that were refused included.
        case connections(Int)
        /// So many connections reached the server.
        case connected(Int)
        /// So many faults struck.
        case strikes(Int)
        /// So many bytes were delivered in a direction, over all connections.
        case deliveredBytes(Int, Direction)
        /// So many connections are over.
        case endedConnections(Int)
    }
}
