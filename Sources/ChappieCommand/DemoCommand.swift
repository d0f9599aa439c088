// `chappie demo`: four turns on the embedded server, each with something else done to the wire.
import ChappieTestServer
import ChappieTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Shows what the engine does when the wire fails, and checks that it did.
struct DemoCommand {
    /// What the command accepts.
    static let syntax = CommandSyntax(
        name: "demo",
        summary: "Shows on a server inside this program what happens when the wire fails, and checks every claim.",
        options: []
    )

    /// Where output goes.
    let console: Console

    /// Plays every scene; `ExitCode.defect` when one did not come out as promised.
    func run() async throws -> ExitCode {
        let printer = DemoPrinter(style: self.console.outputStyle)
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
        let model = ChappieTestServer.ScriptedModel(seed: 7, textByteCount: 2_000)
        let server = try ChappieTestServer(
            configuration: .init(model: .scripted(model), faults: scene.faults))
        defer { server.stop() }
        guard let url = URL(string: server.baseURL) else { return [] }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        // A demonstration that hangs demonstrates nothing.
        configuration.timeouts.total = .seconds(30)
        // The server is in this process, and no proxy is on the way to it.
        configuration.proxy = .none
        let transport = ChappieStreamingTransport(configuration: configuration)
        var turns: [DemoObservation] = []
        for _ in 0..<scene.turnCount {
            let request = ChappieTransportRequest(prompt: "Describe a harbour in the morning.", model: "scripted")
            var turn = await DemoObservation(reading: transport.streamHandle(request))
            turn.uncutText = model.fullText
            turn.records = server.log
            turns.append(turn)
        }
        return turns
    }
}
