// The diagram of the state machine in the documentation, generated from the machine itself.
//
// `CHAPPIE_WRITE_DIAGRAM=1` writes it and fails, to be run again; otherwise a diagram that differs from the machine's
// fails the test.
import Foundation
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnStateDiagramTests {
    private static let document = URL(filePath: #filePath)
        .appending(path: "../../../../../Documentation/Subsystems/Recovery.md").standardizedFileURL

    @Test func diagramInTheDocumentationIsTheMachines() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let start = try #require(text.range(of: "```mermaid\nstateDiagram-v2\n"))
        let end = try #require(text.range(of: "```", range: start.upperBound..<text.endIndex))
        let diagram = Self.diagram()
        if ProcessInfo.processInfo.environment["CHAPPIE_WRITE_DIAGRAM"] == "1" {
            let updated = text.replacingCharacters(in: start.upperBound..<end.lowerBound, with: diagram)
            try updated.write(to: Self.document, atomically: true, encoding: .utf8)
            Issue.record("the diagram was written; run the test again without CHAPPIE_WRITE_DIAGRAM")
        } else {
            #expect(String(text[start.upperBound..<end.lowerBound]) == diagram)
        }
    }

    @Test func everyStateIsReachedAndLeadsToAnEnd() {
        let transitions = Self.transitions()
        let states = Set(transitions.flatMap { [$0.source, $0.target] })
        #expect(
            states == [
                "idle", "connecting", "racing", "exchanging", "backingOff", "refreshing", "completed", "failed",
            ])
        for state in states.subtracting(["completed", "failed"]) {
            #expect(transitions.contains { $0.source == state && $0.target == "failed" })
        }
        #expect(!transitions.contains { ["completed", "failed"].contains($0.source) })
        // A lent connection that has died, and a fallback at once; a race whose upgrade is over.
        #expect(transitions.contains(Transition(source: "exchanging", target: "connecting", input: "failed")))
        #expect(transitions.contains(Transition(source: "racing", target: "backingOff", input: "failed")))
    }

    // MARK: Exploring

    /// A change of the state that an input causes; with the same state twice, a change of its values.
    private struct Transition: Hashable {
        let source: String
        let target: String
        let input: String
    }

    /// An input, by its name in the picture.
    private enum Input: CaseIterable {
        case started, opened, lent, continued, hedgeDue, ready, upgradeOpened, timerFired, delayOutlastsTurn
        case credentialRefreshed, credentialUnchanged, completed, rejected, cancelled
        case lost, refused, upgradeRefused, upgradeFailed, closed, forgotten, unauthorized, tooSoon, overTime

        var name: String {
            switch self {
            case .upgradeOpened: "opened"
            case .credentialRefreshed, .credentialUnchanged: "credentialRefreshed"
            default: self.failure == nil ? "\(self)" : "failed"
            }
        }

        private var failure: AttemptFailure? {
            switch self {
            case .lost: .transport(TransportFailure(phase: .stream, cause: .connectionLost))
            case .refused: .httpStatus(RefusalFacts(statusCode: 400))
            case .upgradeRefused, .upgradeFailed: .upgradeStatus(RefusalFacts(statusCode: 426))
            case .closed: .closed(code: 1008, beforeFirstEvent: true)
            case .forgotten: .errorEvent(RefusalFacts(statusCode: 400, errorCode: "previous_response_not_found"))
            case .unauthorized: .httpStatus(RefusalFacts(statusCode: 401))
            case .tooSoon: .httpStatus(RefusalFacts(statusCode: 429))
            case .overTime: .timeout(.total)
            default: nil
            }
        }

        /// Gives the input to a machine; false when its contract forbids it in this state.
        func perform(on machine: inout TurnStateMachine) -> Bool {
            let state = TurnStateDiagramTests.name(of: machine.stateDescription)
            let isWaiting = ["backingOff", "refreshing"].contains(state)
            // The number that an input about the attempt at hand carries: during a wait, the next one's.
            let attempt = machine.attemptCount + (isWaiting ? 1 : 0)
            let upgrade = state == "racing" ? attempt - 1 : attempt
            if let failure {
                guard state != "idle" else { return false }
                _ = machine.failed(failure, attempt: self == .upgradeFailed ? upgrade : attempt, jitter: 0.5)
                return true
            }
            switch self {
            case .started where state == "idle": _ = machine.started()
            case .cancelled: _ = machine.cancelled()
            case _ where state == "idle" || self == .started: return false
            case .completed where state == "exchanging": _ = machine.completed(attempt: attempt)
            case .rejected where state == "exchanging": _ = machine.rejected(attempt: attempt)
            case .completed, .rejected: return false
            case .opened: _ = machine.opened(attempt: attempt)
            case .lent: _ = machine.lent(attempt: attempt)
            case .continued: machine.continued(attempt: attempt)
            case .upgradeOpened: _ = machine.opened(attempt: upgrade)
            case .hedgeDue: _ = machine.hedgeDue(attempt: attempt)
            case .ready: _ = machine.ready(attempt: attempt)
            case .timerFired: _ = machine.timerFired(attempt: attempt)
            case .delayOutlastsTurn: _ = machine.delayOutlastsTurn(attempt: attempt)
            case .credentialRefreshed: _ = machine.credentialRefreshed(attempt: attempt, changed: true)
            case .credentialUnchanged: _ = machine.credentialRefreshed(attempt: attempt, changed: false)
            default: return false
            }
            return true
        }
    }

    /// The name of a state without its values.
    private static func name(of description: String) -> String { String(description.prefix { $0 != "(" }) }

    /// The state behind a sequence of inputs; nil for a sequence that the contract forbids.
    private static func state(after inputs: [Input]) -> String? {
        var streaming = ChappieStreamingTransportPolicy()
        streaming.hedgeDelay = .seconds(2)
        var machine = TurnStateMachine(policy: RetryPolicy(streaming: streaming))
        for input in inputs where !input.perform(on: &machine) { return nil }
        return machine.stateDescription
    }

    /// All transitions from the states that up to five inputs lead to, each state by the shortest way.
    private static func transitions() -> Set<Transition> {
        var transitions: Set<Transition> = []
        var known: Set<String> = []
        var sequences: [[Input]] = [[]]
        for _ in 0...5 {
            var longer: [[Input]] = []
            for sequence in sequences {
                guard let before = Self.state(after: sequence) else { continue }
                for input in Input.allCases {
                    guard let after = Self.state(after: sequence + [input]), after != before else { continue }
                    transitions.insert(
                        Transition(source: Self.name(of: before), target: Self.name(of: after), input: input.name))
                    if known.insert(after).inserted { longer.append(sequence + [input]) }
                }
            }
            sequences = longer
        }
        return transitions
    }

    private static func diagram() -> String {
        var lines = ["    [*] --> idle"]
        let edges = Dictionary(grouping: Self.transitions()) { [$0.source, $0.target] }
        for (edge, transitions) in edges.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            lines.append("    \(edge[0]) --> \(edge[1]): \(transitions.map(\.input).sorted().joined(separator: ", "))")
        }
        lines += ["    completed --> [*]", "    failed --> [*]"]
        return lines.joined(separator: "\n") + "\n"
    }
}
