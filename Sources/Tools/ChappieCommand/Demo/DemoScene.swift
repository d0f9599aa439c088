// The five scenes of the demonstration: their faults and the expected results.
import Chappie
import ChappieTestServer

/// One scene.
enum DemoScene: Int, CaseIterable {
    /// A turn without faults.
    case webSocketTurn = 1
    /// The connection is cut in mid-text, and the retry repeats the text.
    case cut
    /// The server does not speak WebSocket.
    case refusedUpgrade
    /// The connection is cut in mid-text, and the retry has another text.
    case divergence
    /// A turn with tool calls, whose connection is cut in a call and again in the text.
    case toolLoop

    /// A condition that has to be true.
    struct Check {
        /// The condition, as a claim.
        let claim: String
        /// Indicates whether it is true.
        let holds: Bool

        init(_ claim: String, _ holds: Bool) {
            self.claim = claim
            self.holds = holds
        }
    }

    /// The event after which the connection is cut: in the middle of the text.
    ///
    /// It is closed in order, because a reset could destroy bytes that the consumer is to receive.
    private static let cutEvent = 90

    /// The event of a call after which the connection is cut: in its arguments.
    private static let cutCallEvent = 14

    /// The number of calls of the turn with tools, one in each response.
    static let toolCallCount = 3

    /// The title of the scene.
    var title: String {
        switch self {
        case .webSocketTurn: "A turn over a WebSocket"
        case .cut: "A cut in mid-text that nobody notices"
        case .refusedUpgrade: "A refused upgrade"
        case .divergence: "A replay that contradicts itself"
        case .toolLoop: "A tool loop that is cut twice, and each tool runs once"
        }
    }

    /// The fault of the connection.
    var wire: String {
        switch self {
        case .webSocketTurn: "nothing"
        case .cut: "the connection is cut after event \(Self.cutEvent); the server then says the same again"
        case .refusedUpgrade: "every WebSocket is refused with status code 426"
        case .divergence: "the connection is cut after event \(Self.cutEvent); the server then says something else"
        case .toolLoop: "it is cut in the middle of the second call, and again in the middle of the text"
        }
    }

    /// The faults that the server injects.
    var faults: [ChappieTestServer.Fault] {
        switch self {
        case .webSocketTurn: []
        case .cut: [.init(.cutAfterEvent(event: Self.cutEvent), attempts: 1...1)]
        case .refusedUpgrade: [.init(.answer(status: 426), transport: .webSocket)]
        case .divergence:
            [
                .init(.cutAfterEvent(event: Self.cutEvent), attempts: 1...1),
                .init(.divergeText(fromScalar: 20), from: 2),
            ]
        case .toolLoop:
            [
                .init(.cutAfterEvent(event: Self.cutCallEvent), attempts: 1...1, response: 2),
                .init(.cutAfterEvent(event: Self.cutEvent), attempts: 2...2, response: 3),
            ]
        }
    }

    /// The number of turns that one instance of the engine streams.
    var turnCount: Int { self == .refusedUpgrade ? 2 : 1 }

    /// Returns the checks of the scene; `turns` are the scene's turns, at least one.
    func checks(of turns: [DemoObservation]) -> [Check] {
        guard let first = turns.first, let last = turns.last else { return [Check("there was a turn", false)] }
        switch self {
        case .webSocketTurn: return Self.wholeTurn(first) + Self.webSocketTurn(first)
        case .cut: return Self.wholeTurn(first) + Self.recovery(first)
        case .refusedUpgrade: return Self.wholeTurn(first) + Self.fallback(first, later: last)
        case .divergence: return Self.divergence(first)
        case .toolLoop: return Self.wholeTurn(first) + Self.toolLoop(first)
        }
    }

    private static func wholeTurn(_ turn: DemoObservation) -> [Check] {
        [
            Check(
                "the delivered text is the uncut text, byte for byte",
                !turn.uncutText.isEmpty && Array(turn.text.utf8) == Array(turn.uncutText.utf8)),
            Check(
                "'completed' came once, and last",
                turn.completedCount == 1 && turn.eventsAfterCompletion == 0 && turn.error == nil),
        ]
    }

    private static func webSocketTurn(_ turn: DemoObservation) -> [Check] {
        [
            Check(
                "one attempt, over a WebSocket, on both ends of the wire",
                turn.report.attempts.map(\.transport) == [.webSocket] && turn.transports == [.webSocket])
        ]
    }

    private static func recovery(_ turn: DemoObservation) -> [Check] {
        [
            Check(
                "the server saw two attempts, both over a WebSocket",
                turn.transports == [.webSocket, .webSocket] && turn.report.reconnects == 1),
            Check(
                "what was replayed was compared and withheld",
                turn.report.verifiedReplayByteCount > 0),
        ]
    }

    private static func fallback(_ turn: DemoObservation, later: DemoObservation) -> [Check] {
        [
            Check(
                "one refused WebSocket, then HTTP, and the report says why",
                turn.report.attempts.map(\.transport) == [.webSocket, .httpSSE] && turn.report.fallbackReason != nil),
            Check(
                "the next turn went to HTTP at once",
                later.report.attempts.map(\.transport) == [.httpSSE] && later.text == turn.text
                    && later.transports == [.webSocket, .http, .http]),
        ]
    }

    private static func toolLoop(_ turn: DemoObservation) -> [Check] {
        let calls = Set(turn.toolRuns)
        return [
            Check(
                "the server saw three WebSockets and no other attempt",
                turn.transports == [.webSocket, .webSocket, .webSocket]),
            Check(
                "\(Self.toolCallCount) calls were announced and finished, each once",
                turn.requestedTools == Self.toolCallCount && turn.finishedTools == Self.toolCallCount),
            Check(
                "the tool ran \(Self.toolCallCount) times, once for each call",
                turn.toolRuns.count == Self.toolCallCount && calls.count == Self.toolCallCount),
        ]
    }

    private static func divergence(_ turn: DemoObservation) -> [Check] {
        let delivered = Array(turn.text.utf8)
        return [
            Check("the stream failed with replay.diverged", turn.divergedText != nil && turn.completedCount == 0),
            Check(
                "the error carries exactly what was delivered", turn.divergedText.map { Array($0.utf8) } == delivered),
            Check(
                "that is a beginning of the first answer, with nothing of the second",
                !delivered.isEmpty && Array(turn.uncutText.utf8).starts(with: delivered)),
        ]
    }
}
