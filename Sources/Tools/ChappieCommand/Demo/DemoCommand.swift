// `chappie demo`: five turns on the embedded server, each with another fault of the connection.
import Chappie
import ChappieTestServer
import PlatformFoundation
import Synchronization

/// Shows the engine's behaviour when a connection fails, and checks it.
struct DemoCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "demo",
        summary:
            "Runs a demonstration on an embedded server: cut, refused and diverging responses, each result checked.",
        options: []
    )

    /// The console for the output.
    let console: Console

    /// Plays every scene; returns `ExitCode.defect` when a check of one has failed.
    func run() async throws -> ExitCode {
        let printer = DemoPrinter(style: self.console.outputStyle, columnCount: self.console.output.columnCount)
        var failedCount = 0
        for scene in DemoScene.allCases {
            let turns = try await Self.play(scene)
            let checks = scene.checks(of: turns)
            failedCount += checks.contains { !$0.holds } ? 1 : 0
            try self.console.write(printer.text(scene, turns, checks))
        }
        try self.console.write(printer.summary(sceneCount: DemoScene.allCases.count, failedCount: failedCount))
        return failedCount == 0 ? .success : .defect
    }

    /// Plays a scene on a server of its own.
    private static func play(_ scene: DemoScene) async throws -> [DemoObservation] {
        var model = ChappieTestServer.ScriptedModel(seed: 7, textByteCount: 2_000)
        model.toolRounds = DemoScene.toolCallCount
        let server = try ChappieTestServer(
            configuration: .init(model: .scripted(model), faults: scene.faults))
        defer { server.stop() }
        guard let url = URL(string: server.baseURL) else { return [] }
        let runs = LockedCalls()
        let tide = ChappieHostTool(name: "get_tide", description: "How high the water is.") { call in
            runs.calls.withLock { $0.append(call.callID) }
            return ChappieToolResult(output: "2.1 m")
        }
        let client = Chappie.client(configuration: Self.configuration(url, tools: scene == .toolLoop ? [tide] : []))
        var turns: [DemoObservation] = []
        for _ in 0..<scene.turnCount {
            var turn = await DemoObservation(reading: client.streamHandle("Describe a harbour in the morning."))
            turn.uncutText = model.fullText
            turn.records = server.log
            turn.toolRuns = runs.calls.withLock { $0 }
            turns.append(turn)
        }
        return turns
    }

    private static func configuration(_ url: URL, tools: [ChappieHostTool]) -> ChappieConfiguration {
        var configuration = ChappieConfiguration(
            model: "scripted", harness: .none, tools: tools, endpoint: .other(url))
        // A demonstration that hangs must end.
        configuration.limits.duration = .seconds(30)
        // The server is in this process, so no proxy is used.
        configuration.proxy = .none
        return configuration
    }
}

/// The calls for which a tool ran, which may be on any thread.
private final class LockedCalls: Sendable {
    let calls = Mutex<[String]>([])
}
