// A transport without a network, whose connections have received their responses already.
import StreamTransport

/// Makes connections that have received a whole response.
/// - Safety: it belongs to the one thread that everything runs on.
final class ArenaTransport: StreamTransport, @unchecked Sendable {
    private let script: ArenaConnection.Script
    private var cutsLeft: Int

    /// Each connection delivers the script; the first `cutCount` are cut before the end of their response.
    init(script: ArenaConnection.Script, cutCount: Int) {
        self.script = script
        self.cutsLeft = cutCount
    }

    func connect(_ request: TransportRequest) -> any TransportConnection {
        defer { self.cutsLeft = max(0, self.cutsLeft - 1) }
        return ArenaConnection(self.script, isCut: self.cutsLeft > 0)
    }
}

/// Lends the pieces of a response, as a connection does whose consumer is slower than the network.
/// - Safety: it belongs to its one consumer.
final class ArenaConnection: TransportConnection, @unchecked Sendable {
    /// The events of a connection: its head, the pieces `passCount` times, and the end of the response.
    struct Script: Sendable {
        let head: ResponseHead
        let kind: InboundPayload.Kind
        let pieces: Lendable
        let passCount: Int
        let completion: Lendable
    }

    private let script: Script
    private let isCut: Bool
    private var hasOpened = false
    private var nextPiece = 0
    private var passesLeft: Int
    private var completionCount = 0

    init(_ script: Script, isCut: Bool) {
        self.script = script
        self.isCut = isCut
        self.passesLeft = script.passCount
    }

    func next() -> TransportEvent? {
        if self.nextPiece == self.script.pieces.pieces.count {
            self.nextPiece = 0
            self.passesLeft -= 1
        }
        guard self.hasOpened, self.passesLeft > 0 else { return self.nextEdge() }
        defer { self.nextPiece += 1 }
        let bytes = self.script.pieces.renumbered(self.nextPiece)
        return .payload(InboundPayload(kind: self.script.kind, bytes: bytes))
    }

    private func nextEdge() -> TransportEvent? {
        if !self.hasOpened {
            self.hasOpened = true
            return .opened(self.script.head)
        }
        self.completionCount += 1
        guard self.completionCount == 1 else { return nil }
        guard !self.isCut else { return .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost))) }
        return .payload(InboundPayload(kind: self.script.kind, bytes: self.script.completion.pieces[0]))
    }

    /// Never waits: all events are there, and none follows the end.
    func wait(for duration: Duration?) async -> TransportWaitOutcome { .deadlinePassed }

    func send(_ message: [UInt8], as kind: OutboundKind) {}
    func release() {}
    func ping() {}
    func close() {}
    func fail(code: UInt16) {}
    func cancel() {}
    var statistics: TransportStatistics { TransportStatistics() }
}
