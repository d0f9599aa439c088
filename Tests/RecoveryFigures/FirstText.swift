// How soon the first text comes when a WebSocket is refused, or never answered.
import ChappieTestServer
import ChappieTransport

/// Times from the beginning of a turn to its first text, each on an instance of its own.
enum FirstText {
    /// How much later than a round trip the first text may be.
    private static let allowance = 50.0

    /// Straight over HTTP: what the others are compared with.
    static func roundTrip(runs: Int) async throws -> Figure {
        let values = try await self.times(runs: runs, faults: []) { $0.policy = .httpSSEOnly }
        return Figure("first text over HTTP/SSE: a round trip", values: values, bound: nil)
    }

    /// Each failure after which HTTP follows at once.
    static func refusedUpgrades(runs: Int, roundTrip: Double) async throws -> [Figure] {
        var figures: [Figure] = []
        for (name, action) in self.definite {
            let values = try await self.times(runs: runs, faults: [.init(action, transport: .webSocket)]) { _ in }
            figures.append(Figure("refused upgrade: \(name)", values: values, bound: roundTrip + self.allowance))
        }
        return figures
    }

    /// An upgrade that is never answered, with the default delay of the hedge and a short one.
    static func blackHoles(runs: Int, roundTrip: Double) async throws -> [Figure] {
        var figures: [Figure] = []
        for (delay, runs) in [(Duration.milliseconds(200), runs), (.seconds(2), max(3, runs / 10))] {
            let hole = ChappieTestServer.Fault(.stall(afterByte: 0), transport: .webSocket)
            let values = try await self.times(runs: runs, faults: [hole]) { $0.policy.hedgeDelay = delay }
            figures.append(
                Figure(
                    "black-holed upgrade, hedge after \(Int(delay.milliseconds)) ms", values: values,
                    bound: delay.milliseconds + roundTrip + self.allowance))
        }
        return figures
    }

    private static let definite: [(String, ChappieTestServer.Fault.Action)] =
        [200, 403, 404, 405, 426, 501].map { ("\($0)", .answer(status: $0)) } + [
            ("wrong accept key", .wrongAcceptKey), ("an extension that was not offered", .unofferedExtension()),
            ("a subprotocol that was not offered", .unofferedSubprotocol()),
            ("closed with 1008 after the 101", .closeWebSocket(code: 1008)),
        ]

    private static func times(
        runs: Int, faults: [ChappieTestServer.Fault], _ change: (inout ChappieTransportConfiguration) -> Void
    ) async throws -> [Double] {
        var model = ChappieTestServer.ScriptedModel(seed: 1, textByteCount: 60)
        model.includesReasoning = false
        let server = try ChappieTestServer(configuration: .init(model: .scripted(model), faults: faults))
        defer { server.stop() }
        let configuration = try ChappieTransportConfiguration.loopback(server.baseURL, change)
        var values: [Double] = []
        // The first one starts the service and is not counted.
        for run in 0...runs {
            let time = try await self.time(ChappieStreamingTransport(configuration: configuration))
            if run > 0 { values.append(time) }
        }
        return values
    }

    private static func time(_ transport: ChappieStreamingTransport) async throws -> Double {
        let start = ContinuousClock.now
        var first: Duration?
        for try await event in transport.stream(ChappieTransportRequest(prompt: "hi", model: "m")) {
            if case .textDelta = event, first == nil { first = ContinuousClock.now - start }
        }
        guard let first else { throw ChappieClientError.invalidResponse }
        return first.milliseconds
    }
}
