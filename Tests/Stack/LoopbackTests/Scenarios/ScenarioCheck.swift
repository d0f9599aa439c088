import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Compares a run with its scenario's expectation, every part of it.
struct ScenarioCheck {
    typealias Scenario = ChappieTestServer.Scenario

    let run: ScenarioRun
    let expectation: Scenario.Expectation
    /// The beginning of an issue's text: several scenarios run at once.
    private var name: Comment { "\(self.run.scenario.name)" }

    /// Records an issue for everything that is not as expected.
    func check() {
        #expect(self.run.turns.count == self.expectation.turns.count, self.name)
        for (index, pair) in zip(self.run.turns, self.expectation.turns).enumerated() {
            self.check(pair.0, against: pair.1, "\(self.run.scenario.name), turn \(index + 1)")
        }
        let kinds = self.run.log.map(\.kind)
        if let attempts = self.expectation.attempts { #expect(kinds == attempts, self.name) }
        if let statuses = self.expectation.statuses {
            #expect(self.run.log.map { $0.status ?? 0 } == statuses, self.name)
        }
        if let count = self.expectation.connections { #expect(self.run.connectionCount == count, self.name) }
        if let count = self.expectation.tokensAskedFor { #expect(self.run.tokensAskedFor == count, self.name) }
        self.checkRequests()
        self.checkFrames()
        if let failureClass = self.expectation.failureClass {
            self.check(failureClass, self.run.turns.flatMap(\.outcome.report.attempts).map(\.transport))
        }
    }

    // MARK: Turns

    private func check(_ turn: ScenarioRun.Turn, against expected: Scenario.TurnExpectation, _ comment: Comment) {
        let outcome = turn.outcome
        self.checkText(outcome, expected, comment)
        self.checkEnd(outcome, expected, comment)
        if let outcomes = expected.outcomes { #expect(outcome.report.attempts.map(\.outcome) == outcomes, comment) }
        if let diagnostics = expected.diagnostics {
            let kinds = outcome.diagnostics.map(\.kind).filter { $0 != .connected }.map(\.rawValue)
            #expect(kinds == diagnostics, comment)
        }
        for kind in expected.reports ?? [] {
            #expect(outcome.diagnostics.contains { $0.kind.rawValue == kind }, "\(self.run.scenario.name): \(kind)")
        }
        if let count = expected.toolCalls { #expect(outcome.toolCalls.count == count, comment) }
        for type in expected.passesOn ?? [] {
            #expect(outcome.raw.contains { $0.type == type }, "\(self.run.scenario.name): \(type)")
        }
        if let limits = expected.usageLimits {
            let windows = outcome.usageLimits.map {
                Scenario.UsageWindows(primary: $0.primary?.usedPercent, secondary: $0.secondary?.usedPercent)
            }
            #expect(windows == limits, comment)
        }
        if let transport = expected.transport {
            let kind: ChappieTransportKind = transport == .webSocket ? .webSocket : .httpSSE
            #expect(outcome.report.attempts.last?.transport == kind, comment)
        }
        if let least = expected.atLeast { #expect(turn.time.elapsed >= .seconds(least), comment) }
        if let most = expected.atMost { #expect(turn.time.ownTime <= .seconds(most), comment) }
    }

    private func checkText(_ outcome: StreamOutcome, _ expected: Scenario.TurnExpectation, _ comment: Comment) {
        let server = self.run.scenario.server
        let whole = expected.text ?? (server.model ?? ChappieTestServer.ScriptedModel()).fullText
        switch expected.delivers {
        case .whole:
            if let count = expected.textByteCount {
                #expect(outcome.text.utf8.count == count, comment)
            } else {
                #expect(outcome.text == whole, comment)
            }
        case .none: #expect(outcome.text == "", comment)
        case .prefix:
            #expect(!outcome.text.isEmpty && whole.utf8.starts(with: outcome.text.utf8), comment)
            if let exact = expected.deliveredText { #expect(outcome.text == exact, comment) }
        }
        #expect(outcome.emptyDeltas == 0, comment)
    }

    private func checkEnd(_ outcome: StreamOutcome, _ expected: Scenario.TurnExpectation, _ comment: Comment) {
        let isComplete = expected.ends == "completed"
        #expect(outcome.error == nil || outcome.clientError != nil, comment)
        #expect((outcome.clientError?.tag ?? "completed") == expected.ends, comment)
        #expect(outcome.completions == (isComplete ? 1 : 0), comment)
        #expect(outcome.eventsAfterCompletion == 0, comment)
        if let category = expected.category { #expect(outcome.clientError?.category.rawValue == category, comment) }
        if case .streamingTransportReplayDiverged(let text)? = outcome.clientError {
            #expect(text == outcome.text, comment)
        }
    }

    // MARK: Requests

    private func checkRequests() {
        guard let expected = self.expectation.requests else { return }
        let requests = self.run.log.flatMap { record in
            record.kind == .resume
                ? [(record: record, body: [String: Any]())]
                : record.bodies.map { (record: record, body: Self.object($0)) }
        }
        #expect(requests.map(\.record.attempt) == expected.map(\.attempt), self.name)
        for (request, expected) in zip(requests, expected) {
            if let continues = expected.continues {
                #expect((request.body["previous_response_id"] is String) == continues, self.name)
            }
            if let count = expected.inputItems { #expect((request.body["input"] as? [Any])?.count == count, self.name) }
            if expected.startingAfter != nil || request.record.kind == .resume {
                let start = request.record.query.split(separator: "&").first { $0.hasPrefix("starting_after=") }
                #expect(start.map(String.init) == expected.startingAfter.map { "starting_after=\($0)" }, self.name)
            }
        }
    }

    private static func object(_ text: String) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }

    private func checkFrames() {
        let webSockets = self.run.log.filter { $0.transport == .webSocket }
        if self.expectation.answersPings == true {
            #expect(webSockets.contains { $0.sentPingCount > 0 }, self.name)
            #expect(webSockets.map(\.matchedPongCount) == webSockets.map(\.sentPingCount), self.name)
        }
        if let sendsPings = self.expectation.sendsPings {
            #expect(webSockets.contains { $0.pingCount > 0 } == sendsPings, self.name)
        }
        if let agrees = self.expectation.agreesOnExtension {
            #expect(webSockets.allSatisfy { ($0.acceptedExtension != nil) == agrees }, self.name)
        }
    }

    // MARK: Classes

    /// Checks that the client did what the failure class requires.
    private func check(_ failureClass: Scenario.FailureClass, _ attempts: [ChappieTransportKind]) {
        let others = attempts.dropFirst()
        let firstTurn = self.run.turns.first?.outcome
        switch failureClass {
        case .definite:
            #expect(attempts.starts(with: [.webSocket, .httpSSE]) && !others.contains(.webSocket), self.name)
        case .probable:
            #expect(attempts.starts(with: [.webSocket, .webSocket, .httpSSE]), self.name)
            #expect(!others.dropFirst().contains(.webSocket), self.name)
        case .transient, .server, .throttle:
            #expect(others.first == attempts.first, self.name)
        case .credential:
            #expect(others.first == attempts.first, self.name)
            #expect(self.run.tokensAskedFor >= 2, self.name)
        case .size:
            #expect(attempts == [.webSocket, .httpSSE, .webSocket], self.name)
        case .offline:
            #expect(attempts.contains(.httpSSE) && attempts.last == .webSocket, self.name)
            #expect(firstTurn?.clientError != nil, self.name)
        case .usageLimit, .fatal:
            #expect(firstTurn?.clientError != nil, self.name)
            #expect(firstTurn?.report.attempts.count == 1, self.name)
        }
    }
}
