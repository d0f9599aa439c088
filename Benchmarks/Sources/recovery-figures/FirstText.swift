// The time to the first text: over a new connection, over a kept one, and when an upgrade is refused or never answered.
import BenchmarkResults
import ChappieTestServer
import ChappieTransport
import Foundation

/// Times from the beginning of a turn to its first text.
enum FirstText {
    static let all = [
        Measurement("first-text/http", "over HTTP alone: a round trip, on which the bounds are based") {
            [try await $0.roundTrip()]
        },
        Measurement("first-text/cold", "a new instance: look-up of the name, connection, upgrade") {
            [try await Self.figure("cold", Self.cold(runs: $0.runs))]
        },
        Measurement("first-text/warm", "a kept connection") {
            [try await Self.figure("warm", Self.warm(runs: $0.runs))]
        },
        Measurement("first-text/refused-upgrade", "the server answers the upgrade with 426") {
            try await Self.refusals([Self.upgradeRequired], $0, "first-text") { _ in "refused-upgrade" }
        },
        Measurement("first-text/black-holed-upgrade", "the upgrade is never answered") {
            try await Self.blackHoles($0)
        },
        Measurement("recovery/refused", "the upgrade is refused in other ways") {
            try await Self.refusals(Self.refusals, $0, "recovery") { "refused-\($0)" }
        },
    ]

    /// The milliseconds that the first text may take in addition to a round trip.
    private static let allowance = 50.0

    private static let upgradeRequired = ("426", ChappieTestServer.Fault.Action.answer(status: 426))

    /// The failures after which the client falls back to HTTP at once.
    private static let refusals: [(String, ChappieTestServer.Fault.Action)] =
        [200, 403, 404, 405, 501].map { ("\($0)", .answer(status: $0)) } + [
            ("wrong-accept-key", .wrongAcceptKey), ("extension-not-offered", .unofferedExtension()),
            ("subprotocol-not-offered", .unofferedSubprotocol()), ("closed-1008", .closeWebSocket(code: 1008)),
        ]

    /// Measures the first text over HTTP alone, which the others are compared with.
    static func roundTrip(runs: Int) async throws -> Figure {
        let server = try self.server()
        defer { server.stop() }
        let configuration = try self.withoutWebSocket(server)
        return try await self.figure("http", self.times(configuration, server, runs: runs))
    }

    // MARK: Without failures

    private static func cold(runs: Int) async throws -> [Double] {
        let server = try self.server()
        defer { server.stop() }
        // With a host name, so that it has to be resolved.
        let baseURL = server.baseURL.replacing("127.0.0.1", with: "localhost")
        let times = try await self.times(.loopback(baseURL), server, runs: runs)
        guard server.log.allSatisfy({ $0.transport == .webSocket }), server.connectionCount >= runs else {
            throw WrongResultError("\(server.connectionCount) connections, or not over WebSockets")
        }
        return times
    }

    private static func warm(runs: Int) async throws -> [Double] {
        let server = try self.server()
        defer { server.stop() }
        let instance = ChappieStreamingTransport(configuration: try .loopback(server.baseURL))
        var values: [Double] = []
        for run in 0...runs {
            let time = try await self.time(instance)
            if run > 0 { values.append(time) }
        }
        guard server.log.count == 1, server.connectionCount == 1 else {
            throw WrongResultError("\(server.connectionCount) connections for turns that share one")
        }
        return values
    }

    // MARK: The upgrade fails

    private static func refusals(
        _ kinds: [(String, ChappieTestServer.Fault.Action)], _ context: Context, _ group: String,
        workload: (String) -> String
    ) async throws -> [Figure] {
        let bound = try await context.roundTrip().median + self.allowance
        var figures: [Figure] = []
        for (name, action) in kinds {
            let server = try self.server([.init(action: action, transport: .webSocket)])
            defer { server.stop() }
            let times = try await self.times(.loopback(server.baseURL), server, runs: context.runs)
            try self.requireFallback(server, turns: context.runs)
            figures.append(self.figure(workload(name), times, group: group, bound: bound))
        }
        return figures
    }

    /// Measures with the default delay of the hedge and with a short one.
    private static func blackHoles(_ context: Context) async throws -> [Figure] {
        let bound = try await context.roundTrip().median + self.allowance
        let usual = ChappieStreamingTransportPolicy.default.hedgeDelay ?? .zero
        var figures: [Figure] = []
        for (way, delay, runs) in [
            ("", usual, max(5, context.runs / 10)), ("hedgeDelay 200 ms", .milliseconds(200), max(5, context.runs / 2)),
        ] {
            let server = try self.server([.init(.stall(afterByte: 0), transport: .webSocket)])
            defer { server.stop() }
            let configuration = try ChappieTransportConfiguration.loopback(server.baseURL) {
                $0.policy.hedgeDelay = delay
            }
            let times = try await self.times(configuration, server, runs: runs)
            try self.requireFallback(server, turns: runs)
            figures.append(
                self.figure("black-holed-upgrade", times, way: way, bound: delay.milliseconds + bound))
        }
        return figures
    }

    /// Throws unless the server has seen an upgrade and a POST for every turn.
    private static func requireFallback(_ server: ChappieTestServer, turns: Int) throws {
        let (upgrades, posts) = (
            server.log.count { $0.transport == .webSocket }, server.log.count { $0.transport == .http }
        )
        guard upgrades >= turns, posts >= turns else {
            throw WrongResultError("\(upgrades) upgrades and \(posts) POSTs in \(turns) turns")
        }
    }

    // MARK: Turns

    private static let model = ChappieTestServer.ScriptedModel.text(byteCount: 60)

    private static func server(_ faults: [ChappieTestServer.Fault] = []) throws -> ChappieTestServer {
        try Cores.onServerCore {
            try ChappieTestServer(configuration: .init(model: .scripted(self.model), faults: faults))
        }
    }

    private static func withoutWebSocket(_ server: ChappieTestServer) throws -> ChappieTransportConfiguration {
        try .loopback(server.baseURL) { $0.policy = .httpSSEOnly }
    }

    /// Times turns on an instance each; a turn before them, over HTTP, starts threads and is not counted.
    private static func times(
        _ configuration: ChappieTransportConfiguration, _ server: ChappieTestServer, runs: Int
    ) async throws -> [Double] {
        _ = try await self.time(ChappieStreamingTransport(configuration: self.withoutWebSocket(server)))
        server.clearLog()
        var values: [Double] = []
        for _ in 0..<runs {
            values.append(try await self.time(ChappieStreamingTransport(configuration: configuration)))
        }
        return values
    }

    private static func time(_ transport: ChappieStreamingTransport) async throws -> Double {
        let start = ContinuousClock.now
        var first: Duration?
        var text = ""
        for try await event in transport.stream(.short) {
            guard case .textDelta(let delta) = event else { continue }
            if first == nil { first = ContinuousClock.now - start }
            text += delta
        }
        guard let first, text == self.model.fullText else { throw WrongResultError("the text is '\(text)'") }
        return first.milliseconds
    }

    private static func figure(
        _ workload: String, _ runs: [Double], way: String = "", group: String = "first-text", bound: Double? = nil
    ) -> Figure {
        Figure(group, workload, way: way, runs: runs, bound: bound)
    }
}
