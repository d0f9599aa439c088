// Limits of a turn at zero, below zero and at their types' limits.
import ChappieTransport
import ResponseEvents
import StreamTransport
import Testing

@testable import Chappie

@Suite struct RunLimitTests {
    private static let counts = [0, -1, 1, Int.min, Int.max]

    private static func setup(_ change: (inout ChappieRunLimits) -> Void) -> TurnSetup {
        var configuration = ChappieConfiguration()
        configuration.tools = [ChappieHostTool(name: "f", description: "") { _ in ChappieToolResult(output: "") }]
        change(&configuration.limits)
        return TurnSetup(configuration, transport: ChappieStreamingTransport(configuration: configuration.engine))
    }

    private static let call = FinishedCall(
        callID: "c", name: "f", payload: "{}")

    @Test(arguments: counts) func atLeastOneToolRunsAtATime(count: Int) {
        let setup = Self.setup { $0.concurrentTools = count }
        var machine = ToolLoopStateMachine(rules: setup.rules)
        #expect(machine.responseCompleted(calls: [Self.call], endsTurn: true, now: .zero).contains(.run(0)))
    }

    @Test(arguments: counts) func otherCountsAreNotNegative(count: Int) {
        let setup = Self.setup {
            $0.toolCalls = count
            $0.roundTrips = count
        }
        var machine = ToolLoopStateMachine(rules: setup.rules)
        let actions = machine.responseCompleted(calls: [Self.call], endsTurn: true, now: .zero)
        #expect(actions.contains(.run(0)) == (count > 1) || actions == [.fail(.toolLoopLimitExceeded(max(0, count)))])
    }

    @Test(arguments: counts) func outputIsCutAtAnyLimit(count: Int) {
        let limit = Self.setup { $0.toolOutputByteCount = count }.limits.toolOutputByteCount
        #expect(limit >= 0)
        for result in [
            ChappieToolResult(output: "abc"), ChappieToolResult(parts: [.text("abc"), .text("d")]),
        ] {
            let output = ToolOutput(result, of: Self.call, byteCount: limit)
            #expect(output.text.hasPrefix(limit >= 3 ? "abc" : String("abc".prefix(limit))))
        }
    }

    /// The first reader waits inside the program's source of credentials.
    @Test func secondReaderOfAStreamGetsAnErrorBeforeTheFirstEvent() async {
        let (asked, continuation) = AsyncStream<Void>.makeStream()
        let configuration = ChappieConfiguration(credential: { _ in
            continuation.yield()
            try await Task.sleep(for: .seconds(600))
            return nil
        })
        let handle = Chappie.client(configuration: configuration).streamHandle("hi")
        let reading = Task { for try await _ in handle.events {} }
        for await _ in asked { break }
        await #expect(throws: ChappieClientError.alreadyRead) { for try await _ in handle.events {} }
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }

    @Test(arguments: [.zero, .seconds(-1), .seconds(Int64.min), .seconds(Int64.max)] as [Duration])
    func durationsStayInRange(duration: Duration) throws {
        let bounded = try #require(Self.setup { $0.duration = duration }.limits.duration)
        #expect(bounded >= .zero && bounded <= .longestWait)
    }
}
