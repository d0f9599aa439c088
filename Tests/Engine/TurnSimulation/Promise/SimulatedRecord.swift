// The record of a series for the oracle in Tests/Engine/Promise: the engine's input and its consumer's output.

import ChappieTransport
import PromiseRecord
import StreamTransport

/// The record of one series while it runs.
///
/// A value; its world owns it. Bytes that the engine never reads are not in it.
struct SimulatedRecord {
    private(set) var turns: [PromiseRecord.Turn] = []
    /// The answers of the newest turn that connections carry, by connection.
    private var openExchanges: [Int: Int] = [:]
    /// The messages of connections on which the newest turn has sent no request, by connection.
    private var earlyMessages: [Int: [[UInt8]]] = [:]

    mutating func beginTurn(under policy: ChappieStreamingTransportPolicy) {
        var turn = PromiseRecord.Turn()
        turn.maximumRestartCount = policy.divergence == .restarts ? policy.maxRestarts : 0
        self.turns.append(turn)
        self.openExchanges = [:]
    }

    /// A request has reached the server.
    mutating func requested(on connection: Int, _ exchange: TransportRequest.Exchange, target: String, message: [UInt8])
    {
        guard let turn = self.turns.indices.last else { return }
        var recorded = PromiseRecord.Exchange(
            connection: connection, isWebSocket: false, request: .create(content: nil), sent: .eventStream([]))
        switch exchange {
        case .webSocket:
            recorded.isWebSocket = true
            recorded.request = .create(content: message)
            recorded.sent = .messages(self.earlyMessages.removeValue(forKey: connection) ?? [])
        case .post(let content): recorded.request = .create(content: content)
        case .get:
            let target = ResumeTarget(target)
            recorded.request = .resume(id: target.responseID, after: target.number)
        }
        self.openExchanges[connection] = self.turns[turn].exchanges.count
        self.turns[turn].exchanges.append(recorded)
    }

    /// The engine reads what a connection carries.
    mutating func read(_ payload: TimelineItem.Payload, on connection: Int) {
        guard let turn = self.turns.indices.last, let index = self.openExchanges[connection] else {
            if payload.kind == .text { self.earlyMessages[connection, default: []].append(Array(payload.bytes)) }
            return
        }
        switch self.turns[turn].exchanges[index].sent {
        case .messages(let messages) where payload.kind == .text:
            self.turns[turn].exchanges[index].sent = .messages(messages + [Array(payload.bytes)])
        case .eventStream(let bytes) where payload.kind == .body:
            self.turns[turn].exchanges[index].sent = .eventStream(bytes + payload.bytes)
        case .messages, .eventStream, .connection: break
        }
    }

    mutating func received(_ event: ChappieStreamEvent) {
        guard let turn = self.turns.indices.last else { return }
        self.turns[turn].received.append(event)
    }

    mutating func ended(_ error: (any Error)?, isAbandoned: Bool) {
        guard let turn = self.turns.indices.last else { return }
        self.turns[turn].error = error
        self.turns[turn].isAbandoned = isAbandoned
    }
}
