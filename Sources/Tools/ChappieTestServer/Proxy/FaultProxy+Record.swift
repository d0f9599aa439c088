// The record of a connection of a fault proxy.
//
// Values; the proxy's log hands out copies.

extension FaultProxy {
    /// The traffic of one direction.
    package struct Traffic: Hashable, Sendable {
        /// The bytes read from the sender; those after a cut are read and dropped.
        package var receivedByteCount = 0
        /// The bytes handed to the receiver's socket.
        package var deliveredByteCount = 0
        /// The writes that it took.
        package var writeCount = 0
        /// Indicates whether the receiver got the end of the stream, from the sender or from a cut.
        package var isFinished = false
    }

    /// A fault that was applied.
    package struct Strike: Hashable, Sendable {
        /// The action that was applied.
        package var action: ConnectionFault
        /// The direction in which bytes are counted; nil for an action on a connection as a whole.
        package var direction: Direction?
        /// The number of bytes that had been delivered in that direction; nil as above.
        package var byteOffset: Int?
    }

    /// The end of a connection.
    package enum ConnectionEnd: Hashable, Sendable {
        /// Both directions ended in order.
        case closed
        /// It was reset, by a fault or by a peer.
        case reset
        /// A fault refused it.
        case refused
        /// The limit of connections was reached.
        case tooMany
        /// The server could not be connected to; the value is `errno`.
        case unreachable(code: Int32)
        /// The server's name has no address.
        case unknownHost
        /// A silent connection whose peers had left was closed for a new one.
        case replaced
        /// The proxy stopped.
        case stopped
    }

    /// One connection as the proxy saw it.
    package struct ConnectionRecord: Hashable, Sendable {
        /// The connection's number, from 1.
        package var number: Int
        /// Indicates whether the server was connected to.
        package var isConnected = false
        /// The traffic from the client to the server.
        package var toServer = Traffic()
        /// The traffic from the server to the client.
        package var toClient = Traffic()
        /// The faults that were applied, in order.
        package var strikes: [Strike] = []
        /// The end of the connection; nil while it is open.
        package var end: ConnectionEnd?

        /// Returns the traffic of a direction.
        package subscript(_ direction: Direction) -> Traffic {
            get { direction == .toServer ? self.toServer : self.toClient }
            set { if direction == .toServer { self.toServer = newValue } else { self.toClient = newValue } }
        }
    }

    /// An event to wait for, counted over the proxy's life.
    package enum Milestone: Hashable, Sendable {
        /// This number of connections was accepted, refused ones included.
        case connections(Int)
        /// This number of connections reached the server.
        case connected(Int)
        /// This number of faults was applied.
        case strikes(Int)
        /// This number of bytes was delivered in a direction, over all connections.
        case deliveredBytes(Int, Direction)
        /// This number of connections has ended.
        case endedConnections(Int)
    }
}
