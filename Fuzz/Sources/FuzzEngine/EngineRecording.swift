// The runs as records for the oracle in Tests/Engine/Promise, when the environment asks for them.

import ChappieTransport
import Foundation
import PromiseRecord

/// The file that `CHAPPIE_FUZZ_RECORDS` names.
struct EngineRecording {
    private let file: PromiseRecordFile

    /// Nil when no file is named.
    init?() {
        guard let path = ProcessInfo.processInfo.environment["CHAPPIE_FUZZ_RECORDS"] else { return nil }
        guard let file = PromiseRecordFile(path: path) else { preconditionFailure("\(path) cannot be written") }
        self.file = file
    }

    /// The name that libFuzzer gives the file of an input: its SHA-1.
    static func name(of input: [UInt8]) -> String { SHA1.digest(of: input).map { String(format: "%02x", $0) }.joined() }

    /// Adds a run: everything that the server sent on its connection, and everything that the consumer received.
    func add(_ name: String, _ input: EngineInput, sent: [UInt8], _ outcome: EngineOutcome) {
        var turn = PromiseRecord.Turn()
        var exchange = PromiseRecord.Exchange(
            connection: 0, isWebSocket: input.isWebSocket, request: .create(content: nil), sent: .connection(sent))
        // The server reads heads but no messages, and none of a request that it does not wait for.
        exchange.isRequestSeen = !input.isWebSocket && !input.isEarly
        turn.exchanges = [exchange]
        turn.received = outcome.events
        turn.error = outcome.error
        turn.isAbandoned = input.ending == .cancel
        // 2 is `.none`.
        self.file.write(PromiseRecord(name: name, turns: [turn], handsOverCalls: input.rawEvents != 2))
    }
}
