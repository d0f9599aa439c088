// The failure that the end of an attempt means, from the answer as far as it has come.

import Foundation
import StreamSession
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct AttemptFailureTests {
    private let connection = ScriptedConnection([], clock: ManualClock())

    private func reader() -> EventReader {
        let clock = ManualClock()
        let engine = Engine(
            configuration: ChappieTransportConfiguration(baseURL: URL(filePath: "/")),
            transport: ScriptedTransport([], clock: clock), clock: clock.turnClock)
        return EventReader(engine, ChappieTransportRequest(prompt: "hi"), requestID: "r", Steering())
    }

    private func attempt(_ transport: ChappieTransportKind, _ statusCode: Int, _ body: String = "") -> Attempt {
        let opening = TurnStateMachine.Opening(attempt: 1, transport: transport, reason: .first)
        var attempt = Attempt(of: opening, on: self.connection, at: .zero)
        attempt.opened(ResponseHead(statusCode: statusCode, fields: []), at: .zero)
        Array(body.utf8).withUnsafeBytes { bytes in
            if attempt.stage == .streaming {
                attempt.keepOtherDocument(bytes, limit: 1_000)
            } else {
                _ = attempt.collect(bytes, limit: 1_000)
            }
        }
        return attempt
    }

    @Test func statusCodeIsMorePreciseThanTheEndOfTheBody() {
        var reader = self.reader()
        var upgrade = self.attempt(.webSocket, 403)
        let refused = upgrade.failure(at: .complete, &reader)
        #expect(refused == .upgradeStatus(RefusalFacts(statusCode: 403)))
        var post = self.attempt(.httpSSE, 503)
        let late = post.failure(after: .firstEvent, &reader)
        #expect(late == .httpStatus(RefusalFacts(statusCode: 503)))
    }

    @Test(arguments: [(true, AttemptFailure.endedEarly), (false, .endedWithoutEvent)])
    func endOfAStreamDependsOnItsEvents(hasEvents: Bool, expected: AttemptFailure) {
        var reader = self.reader()
        var attempt = self.attempt(.httpSSE, 200)
        if hasEvents { attempt.progressed(at: Moment(nanoseconds: 0)) }
        let failure = attempt.failure(at: .complete, &reader)
        #expect(failure == expected)
    }

    @Test func documentInPlaceOfAnEventStreamIsAnUnexpectedContentType() {
        var reader = self.reader()
        var attempt = self.attempt(.httpSSE, 200, #"{"error":{"message":"no such model"}}"#)
        let failures = [
            attempt.failure(at: .complete, &reader), attempt.failure(after: .firstEvent, &reader),
            attempt.failure(after: .idle, &reader),
        ]
        #expect(failures == [.unexpectedContentType, .unexpectedContentType, .timeout(.idle)])
    }

    @Test(arguments: AttemptFailure.TimeBudget.allCases)
    func passedBudgetIsATimeout(budget: AttemptFailure.TimeBudget) {
        var reader = self.reader()
        var attempt = self.attempt(.webSocket, 101)
        let failure = attempt.failure(after: budget, &reader)
        #expect(failure == .timeout(budget))
    }

    @Test(arguments: [
        (AttemptFailure.TimeBudget.idle, AttemptFailure.toolOutputAwaited), (.progress, .toolOutputAwaited),
        (.firstEvent, .timeout(.firstEvent)), (.total, .timeout(.total)),
    ])
    func serverThatWaitsForToolsIsNotSilent(budget: AttemptFailure.TimeBudget, expected: AttemptFailure) {
        var reader = self.reader()
        reader.findings.hasAgents = true
        reader.findings.hasCalls = true
        var attempt = self.attempt(.webSocket, 101)
        let failure = attempt.failure(after: budget, &reader)
        #expect(failure == expected)
    }
}
