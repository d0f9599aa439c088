// The diagram of the state machine in the documentation, generated from the machine itself.
//
// `CHAPPIE_WRITE_DIAGRAM=1` writes it; otherwise a diagram that differs from the machine's fails the test.
import Foundation
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnStateDiagramTests {
    private static let document = URL(filePath: #filePath)
        .appending(path: "../../../../Documentation/Subsystems/Recovery.md").standardizedFileURL

    @Test func diagramInTheDocumentationIsTheMachines() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let start = try #require(text.range(of: "```mermaid\nstateDiagram-v2\n"))
        let end = try #require(text.range(of: "```", range: start.upperBound..<text.endIndex))
        let diagram = Self.diagram()
        if ProcessInfo.processInfo.environment["CHAPPIE_WRITE_DIAGRAM"] != nil {
            let updated = text.replacingCharacters(in: start.upperBound..<end.lowerBound, with: diagram)
            try updated.write(to: Self.document, atomically: true, encoding: .utf8)
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
    }

    // MARK: Exploring

    /// A change of the state, or a new attempt, that an input causes.
    private struct Transition: Hashable {
        let source: String
        let target: String
        let input: String
    }

    /// An input, by its name in the diagram.
    private enum Input: CaseIterable {
        case started, opened, hedgeDue, ready, upgradeOpened, timerFired, delayOutlastsTurn
        case credentialRefreshed, credentialUnchanged, completed, rejected, cancelled
        case lost, refused, unauthorized, tooSoon, overTime

        var name: String {
            switch self {
            case .upgradeOpened: "opened"
            case .credentialRefreshed, .credentialUnchanged: "credentialRefreshed"
            case .lost, .refused, .unauthorized, .tooSoon, .overTime: "failed"
            default: "\(self)"
            }
        }

        private var failure: AttemptFailure? {
            switch self {
            case .lost: .transport(TransportFailure(phase: .stream, cause: .connectionLost))
            case .refused: .httpStatus(RefusalFacts(statusCode: 400))
            case .unauthorized: .httpStatus(RefusalFacts(statusCode: 401))
            case .tooSoon: .httpStatus(RefusalFacts(statusCode: 429))
            case .overTime: .timeout(.total)
            default: nil
            }
        }

        /// Passes the input to a machine; returns false when its contract forbids it in this state.
        func perform(on machine: inout TurnStateMachine, attempt: Int) -> Bool {
            let state = machine.stateName
            if let failure {
                guard state != "idle" else { return false }
                _ = machine.failed(failure, attempt: attempt, jitter: 0.5)
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
            case .upgradeOpened: _ = machine.opened(attempt: max(1, attempt - 1))
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

    /// Returns the state after a sequence of inputs; nil for a sequence that the contract forbids.
    private static func state(after inputs: [Input]) -> String? {
        var streaming = StreamingPolicy()
        streaming.hedgeDelay = .seconds(2)
        var machine = TurnStateMachine(policy: RetryPolicy(streaming: streaming))
        for input in inputs {
            let attempt = Self.attempt(of: machine)
            guard input.perform(on: &machine, attempt: attempt) else { return nil }
        }
        return machine.stateName
    }

    /// The attempt number of an input: during a wait, the next one's.
    private static func attempt(of machine: borrowing TurnStateMachine) -> Int {
        ["backingOff", "refreshing"].contains(machine.stateName) ? machine.attemptCount + 1 : machine.attemptCount
    }

    /// Returns all transitions after sequences of up to five inputs.
    private static func transitions() -> Set<Transition> {
        var transitions: Set<Transition> = []
        var sequences: [[Input]] = [[]]
        for _ in 0..<5 {
            var longer: [[Input]] = []
            for sequence in sequences {
                for input in Input.allCases {
                    guard let source = Self.state(after: sequence), let target = Self.state(after: sequence + [input]),
                        source != target
                    else { continue }
                    transitions.insert(Transition(source: source, target: target, input: input.name))
                    longer.append(sequence + [input])
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
