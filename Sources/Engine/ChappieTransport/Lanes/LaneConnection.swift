import StreamSession
import StreamTransport

/// One lane of a shared WebSocket, which its consumer uses like a connection of its own.
///
/// Dropping it cancels it.
final class LaneConnection: TransportConnection {
    private let socket: SharedSocket
    private let member: LaneTable.Member

    /// Creates a member's view of its socket.
    init(_ socket: SharedSocket, member: LaneTable.Member) {
        self.socket = socket
        self.member = member
    }

    deinit { self.socket.forget(self.member) }

    func next() -> TransportEvent? { self.socket.next(for: self.member) }

    func wait(for duration: Duration?) async -> TransportWaitOutcome {
        await self.socket.wait(self.member, for: duration)
    }

    func send(_ message: [UInt8], as kind: OutboundKind) { self.socket.send(message, as: kind, by: self.member) }

    /// Does nothing, as a WebSocket is never held.
    func release() {}

    func ping() { self.socket.ping(by: self.member) }

    /// Leaves the socket, which is closed when it has no members.
    func close() { self.socket.leave(self.member, .closing) }

    /// Fails the socket for all its lanes, as the peer's data cannot be processed.
    func fail(code: UInt16) { self.socket.fail(code: code) }

    /// Leaves the socket; the rest of the response is dropped.
    ///
    /// The socket is closed at once when it has no members.
    func cancel() { self.socket.leave(self.member, .cancelling) }

    var statistics: TransportStatistics { self.socket.statistics(of: self.member) }

    var socketIdentity: ObjectIdentifier { self.socket.identity }
}
