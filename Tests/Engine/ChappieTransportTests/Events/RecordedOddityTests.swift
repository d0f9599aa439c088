// What recorded servers do, whole and cut at every event: the output is the same, once.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct RecordedOddityTests {
    private static let lost = TransportEnd.failed(TransportFailure(phase: .stream, cause: .connectionLost))

    private static func script(_ lines: [String], overHTTP: Bool, isBroken: Bool) -> [ScriptStep] {
        guard overHTTP else { return .socket(lines, isBroken: isBroken) }
        let body = lines.map { ScriptStep.body(Event.sse($0)) }
        return [.opened(200, fields: ["content-type": "text/event-stream"])] + body
            + [.ended(isBroken ? Self.lost : .complete)]
    }

    private static func expect(_ oddity: RecordedOddity, _ scripts: [[ScriptStep]], overHTTP: Bool) async {
        let fixture = TurnFixture(scripts) {
            $0.policy = overHTTP ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        }
        let (outcome, response) = await fixture.complete(conversation([WireItem.question]))
        #expect(outcome.text == oddity.text)
        #expect(outcome.reasoning == oddity.reasoning)
        #expect(outcome.refusal == oddity.refusal)
        #expect(outcome.announcedServerItems == oddity.serverItems)
        #expect(outcome.failure == oddity.failure)
        guard oddity.failure == nil else { return }
        #expect(outcome.error == nil)
        #expect(response?.calls.map { "\($0.callID) \($0.name) \($0.payload)" } == oddity.calls)
    }

    @Test(arguments: RecordedOddity.all, [false, true])
    func oddityOfARecordedServerArrivesOnce(_ oddity: RecordedOddity, overHTTP: Bool) async {
        let whole = Self.script(oddity.lines, overHTTP: overHTTP, isBroken: false)
        await Self.expect(oddity, [whole], overHTTP: overHTTP)
        // What stands behind the end is not read.
        for cut in 1..<oddity.lines.count - (oddity.ending?.count ?? 1) + 1 {
            let broken = Self.script(Array(oddity.lines[..<cut]), overHTTP: overHTTP, isBroken: true)
            await Self.expect(oddity, [broken, whole], overHTTP: overHTTP)
        }
    }
}

extension TurnOutcome {
    fileprivate var refusal: String {
        self.events.reduce(into: "") { if case .refusalDelta(let delta) = $1 { $0 += delta } }
    }

    /// The types of the announced items that are neither messages, nor reasoning, nor calls.
    fileprivate var announcedServerItems: [String] {
        self.events.compactMap { event in
            guard case .raw("response.output_item.added", let payload) = event,
                let members = SentMessage(payload)?.members, let item = members["item"] as? [String: Any],
                let type = item["type"] as? String
            else { return nil }
            return ["message", "reasoning", "function_call"].contains(type) ? nil : type
        }
    }

    /// The status of a response that is not complete, and its error's code or reason.
    fileprivate var failure: String? {
        guard case .responseTerminalFailure(let response)? = self.clientError else { return nil }
        return "\(response.status) \(response.errorCode ?? response.incompleteReason ?? "")"
    }
}
