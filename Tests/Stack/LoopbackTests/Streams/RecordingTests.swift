import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Recorded responses of real services, served in every form: the text is the recording's text.
@Suite(.timeLimit(.minutes(10))) struct RecordingTests {
    /// One recording, and what a consumer has to get from it.
    struct Recording: Sendable, CustomTestStringConvertible {
        let name: String
        let lines: [String]

        var testDescription: String { self.name }

        private var events: [[String: Any]] {
            self.lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        }

        /// The deltas of the text, concatenated; of a server that streams none, the texts of its finished messages.
        var text: String {
            let deltas = self.texts(of: "response.output_text.delta", "delta")
            return deltas.isEmpty ? self.finishedTexts.joined() : deltas.joined()
        }

        /// The texts of the finished messages.
        private var finishedTexts: [String] {
            self.events.filter { $0["type"] as? String == "response.output_item.done" }
                .compactMap { $0["item"] as? [String: Any] }
                .flatMap { $0["content"] as? [[String: Any]] ?? [] }
                .compactMap { $0["text"] as? String }
        }

        private func texts(of type: String, _ member: String) -> [String] {
            self.events.filter { $0["type"] as? String == type }.compactMap { $0[member] as? String }
        }

        /// The events up to the one that ends the response: what follows an error is not read.
        var readLines: [String] {
            let last = self.events.firstIndex { event in
                ["error", "response.failed", "response.incomplete"].contains(event["type"] as? String)
            }
            return last.map { Array(self.lines[...$0]) } ?? self.lines
        }

        var endsWell: Bool { self.events.last?["type"] as? String == "response.completed" }
    }

    /// A form in which a recording is served.
    struct Form: Sendable {
        let wire: Wire
        let isCompressed: Bool
        let isDivided: Bool

        static let all = Wire.allCases.flatMap { wire in
            [false, true].flatMap { isCompressed in
                [false, true].map { Form(wire: wire, isCompressed: isCompressed, isDivided: $0) }
            }
        }
    }

    private static let handMade = Recording(
        name: "hand-made",
        lines: #"""
            {"type":"response.created","response":{"id":"resp_1","status":"in_progress"},"sequence_number":0}
            {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Grüße, \ud83d\ude00\n","sequence_number":1}
            {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"","sequence_number":2}
            {"sequence_number" : 3, "delta" : "\"data: \"\t\\ \u0000\u2028", "content_index" : 0, "output_index" : 0, "type" : "response.output_text.delta"}
            {"type":"response.of.tomorrow","value":[1.50,-0,1e3,null,true],"sequence_number":4}
            {"type":"response.completed","response":{"id":"resp_1","status":"completed"},"sequence_number":5}
            """#.split(separator: "\n").map(String.init))

    private static let all: [Recording] = {
        let folder = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../../../shared/recordings")
            .standardizedFileURL
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        let recordings = files.filter { $0.pathExtension == "jsonl" }.compactMap { file in
            (try? String(contentsOf: file, encoding: .utf8)).map { text in
                Recording(name: file.lastPathComponent, lines: text.split(separator: "\n").map(String.init))
            }
        }
        if recordings.isEmpty { print("no recordings beside the checkout: only the hand-made one is served") }
        return [Self.handMade] + recordings.sorted { $0.name < $1.name }
    }()

    @Test(arguments: Self.all)
    func aRecordingArrivesAsItWasRecorded(_ recording: Recording) async throws {
        for form in Form.all {
            let outcome = try await self.outcome(of: recording, in: form)
            #expect(outcome.text == recording.text, "\(form)")
            #expect(outcome.raw.map(\.payload) == recording.readLines, "\(form)")
            #expect(outcome.emptyDeltas == 0)
            #expect(outcome.eventsAfterCompletion == 0)
            #expect(outcome.completions == (recording.endsWell ? 1 : 0))
            if recording.endsWell {
                #expect(outcome.error == nil, "\(form)")
            } else {
                self.expectFailedResponse(outcome)
            }
        }
    }

    private func outcome(of recording: Recording, in form: Form) async throws -> StreamOutcome {
        try await LoopbackTurn.run(
            over: form.wire,
            server: { server in
                server.model = .recordings([recording.lines])
                server.messageCompression = form.isCompressed ? .deflate(.init()) : .off
                server.contentCoding = form.isCompressed ? .gzip : .identity
                // Byte by byte where that takes no time; else in pieces that divide every field name.
                let byteCount = recording.lines.reduce(0) { $0 + $1.utf8.count }
                if form.isDivided { server.writeMode = .bytes(byteCount < 4_000 ? 1 : 61) }
            },
            client: { client in
                client.rawEvents = .all
                client.maxHTTPRetries = 0
                client.policy = ChappieStreamingTransportPolicy(
                    prefersWebSocket: form.wire == .webSocket, maxWebSocketReconnectionAttempts: 0,
                    fallsBackToHTTPSSE: false)
            }
        ).outcome
    }

    /// The one recording that ends with an error says that the account's quota is spent.
    private func expectFailedResponse(_ outcome: StreamOutcome) {
        switch outcome.clientError {
        case .responseTerminalFailure(let response)?:
            #expect(response.status == "failed")
            #expect(response.errorCode == "insufficient_quota")
        case .usageLimitReached(let limit)?:
            #expect(limit.type == "insufficient_quota")
        default:
            Issue.record("\(String(describing: outcome.error))")
        }
    }
}
