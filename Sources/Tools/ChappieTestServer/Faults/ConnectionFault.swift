// The faults of a connection, which the test server and the fault proxy perform alike.
//
// Immutable values without an owner. `FaultLane` decides when they apply.

/// A fault of a connection: of its bytes in one direction, or of the connection as a whole.
///
/// Byte `n` is the one before which exactly `n` bytes were delivered in the fault's direction, counted from the
/// connection's first. A fault at byte `n` applies as soon as those `n` are delivered; it does not wait for the
/// next one. TLS's own bytes count: the proxy does not interpret what it relays.
package enum ConnectionFault: Hashable, Sendable {
    /// Deliver `atByte` bytes and then the end of the stream (FIN) or a reset (RST).
    ///
    /// The end of the stream is of this direction only, and the other continues. A proxy reads further bytes of the
    /// sender and drops them, so that it is not blocked; once the receiver has closed as well, the sender is reset, as
    /// the receiver's system would.
    ///
    /// A reset is of both sides, whatever the other direction still had to deliver. A proxy's waits until the
    /// receiver's system has acknowledged all `atByte` bytes. A program on Linux reads them before it sees the reset;
    /// other systems may drop unread bytes.
    case cut(atByte: Int, with: ChappieTestServer.Fault.ConnectionCut = .end)
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

extension ConnectionFault {
    /// A byte in a thousand seconds: a lower rate is a stall.
    static let lowestRate = 0.001

    /// The name in plans and logs.
    package var name: String {
        switch self {
        case .cut(_, .reset): "reset"
        case .cut: "cut"
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
        case .cut(let offset, _), .halfOpen(let offset), .stall(let offset, _), .slice(_, let offset),
            .throttle(_, let offset), .corrupt(let offset, _):
            offset
        case .refuse, .silence, .delay: nil
        }
    }
}
