// The simulated network by itself: what it says to requests of every kind, whether or not an engine makes them.

import Foundation
import StreamTransport
import Testing

@testable import TurnSimulation

@Suite struct SimulatedNetworkTests {
    private static let body = Array(#"{"background":true,"store":true,"input":"hi"}"#.utf8)

    @Test func keptResponseContinuesAfterASequenceNumber() async {
        let coverage = await Self.simulate(seeds: 0..<400) { world, transport in
            world.checker.began(PromiseChecker.Limits())
            let first = await Self.read(transport.connect(Self.request(.post(body: Self.body))))
            guard let last = first.compactMap(Self.number).max(), first.contains(where: { $0.contains("resp_1") })
            else { return }
            let after = world.random.below(last + 1)
            let target = "/v1/responses/resp_1?stream=true&starting_after=\(after)"
            let rest = await Self.read(transport.connect(Self.request(.get, target: target)))
            #expect(rest.allSatisfy { !Self.isCreation($0) || Self.number($0) ?? 1 <= after })
        }
        for fact in SimulatedFact.allCases where fact.condition == .resumed && fact != .resumedToEnd {
            #expect(coverage.count(of: fact) > 0, "\(fact)")
        }
    }

    @Test func aHeldRequestIsAnsweredWhenItIsReleased() async {
        let coverage = await Self.simulate(seeds: 0..<500) { world, transport in
            world.checker.began(PromiseChecker.Limits())
            var request = Self.request(.post(body: Self.body))
            request.isHeld = true
            let connection = transport.connect(request)
            guard await connection.wait(for: .seconds(100)) == .ready, case .ready? = connection.next() else { return }
            #expect(connection.next() == nil)
            #expect(world.checker.requestCount == 0)
            connection.release()
            #expect(world.checker.requestCount == 1)
            guard await connection.wait(for: .seconds(100)) == .ready else { return }
            switch connection.next() {
            case .opened, .ended: break
            case .ready, .pong, .payload, nil: Issue.record("an answer begins with its head")
            }
            connection.cancel()
        }
        for fact in [SimulatedFact.held, .heldBecameReady, .heldFailed, .heldReleased] {
            #expect(coverage.count(of: fact) > 0, "\(fact)")
        }
    }

    @Test func theEarliestOfTwoConnectionsEndsTheWait() async {
        _ = await Self.simulate(seeds: 0..<200) { world, transport in
            world.checker.began(PromiseChecker.Limits())
            let connections = (0..<2).map { _ in
                transport.connect(Self.request(.webSocket(offersCompression: false)))
            }
            let start = world.now
            let moments = world.connections.compactMap(\.nextMoment)
            let outcome = await transport.wait(for: connections, atMost: .seconds(3_600))
            #expect(outcome == (moments.isEmpty ? .deadlinePassed : .ready))
            #expect(world.now == moments.min() ?? start + .seconds(3_600))
            #expect(world.connections.contains { $0.isReady(at: world.now) } == !moments.isEmpty)
        }
    }

    @Test func livingConnectionAnswersAPing() async {
        let coverage = await Self.simulate(seeds: 0..<100) { world, transport in
            let connection = transport.connect(Self.request(.webSocket(offersCompression: false)))
            guard await connection.wait(for: .seconds(100)) == .ready, case .opened(let head)? = connection.next(),
                head.statusCode == 101
            else { return }
            let isDead = world.random.chance(50)
            world.connections[0].peerIsDead = isDead
            connection.ping()
            #expect(await connection.wait(for: .seconds(1)) == (isDead ? .deadlinePassed : .ready))
        }
        #expect(coverage.count(of: .pongLost) > 0)
    }

    @Test(arguments: [
        ("hi", 0), (#"[{"type":"message","content":[{"text":"}]"}]}]"#, 0), (#"[{"a":"\"]"},{"b":[]},{}]"#, 2),
    ])
    func carriedItemsAreCounted(input: String, count: Int) {
        let value = input.hasPrefix("[") ? input : "\"\(input)\""
        #expect(ResumeTarget.carriedItemCount(Array(#"{"model":"m","input":\#(value),"stream":true}"#.utf8)) == count)
    }

    // MARK: Means

    private static func request(
        _ exchange: TransportRequest.Exchange, target: String = "/v1/responses"
    ) -> TransportRequest {
        TransportRequest(
            endpoint: TransportEndpoint(isSecure: true, host: "api.example", port: 443, target: target),
            exchange: exchange)
    }

    /// Every line of data that a connection reports before its end, or before it falls silent or says the same for
    /// ever.
    private static func read(_ connection: any TransportConnection) async -> [String] {
        var bytes: [UInt8] = []
        var comments = 0
        loop: while await connection.wait(for: .seconds(10_000)) == .ready {
            switch connection.next() {
            case .payload(let payload):
                bytes += Array(payload.bytes)
                comments = payload.bytes.first == UInt8(ascii: ":") ? comments + 1 : 0
                if comments == 100 { break loop }
            case .opened(let head) where head.statusCode != 200: break loop
            case .ended: break loop
            case .opened, .ready, .pong, nil: break
            }
        }
        connection.cancel()
        return String(decoding: bytes, as: UTF8.self).split { $0.isNewline }.map(String.init)
            .filter { $0.hasPrefix("data:") }
    }

    /// Returns whether it begins the response that was asked for.
    private static func isCreation(_ line: String) -> Bool {
        line.contains("response.created") && !line.contains("resp_other")
    }

    private static func number(_ line: String) -> Int? {
        line.range(of: #""sequence_number":"#).flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) }
    }

    /// Runs a body in a world of each seed, on a thread of its own.
    private static func simulate(
        seeds: Range<UInt64>, _ body: @escaping @Sendable (SimulatedWorld, SimulatedTransport) async -> Void
    ) async -> Coverage {
        let coverage = LockedValue(Coverage())
        await SimulationScheduler.runOnThread { scheduler in
            for seed in seeds {
                let world = SimulatedWorld(seed: seed, options: SimulationOptions(), scheduler: scheduler)
                await body(world, SimulatedTransport(world: world))
                world.connections = []
                let met = world.coverage
                coverage.withLock { $0.add(met) }
            }
        }
        return coverage.withLock { $0 }
    }
}
