// A few turns on one instance, one after another, with pauses between them.

import ChappieTransport
package import PromiseRecord
import StreamTransport

/// Runs the turns of one seed.
package struct SimulatedSeries {
    /// The outcome of a series.
    package struct Outcome: Sendable {
        /// The facts that occurred.
        package var coverage = Coverage()
        /// The first broken promise.
        package var violation: PromiseChecker.Violation?
        /// The trace, line by line, if it was asked for.
        package var trace: [String] = []
        /// The record for the oracle in Tests/Engine/Promise, if it was asked for.
        package var record: PromiseRecord?
    }

    private let seed: UInt64
    private let options: SimulationOptions

    /// A series, which the seed decides alone.
    package init(seed: UInt64, options: SimulationOptions) {
        self.seed = seed
        self.options = options
    }

    /// Runs the series on the scheduler's thread.
    package func run(on scheduler: SimulationScheduler) async -> Outcome {
        scheduler.now = .seconds(1_000)
        let world = SimulatedWorld(seed: self.seed, options: self.options, scheduler: scheduler)
        world.log("\(world.settings.configuration.summary)")
        await self.runTurns(in: world)
        if world.checker.violation == nil { world.checker.released() }
        // The connections know their world.
        world.connections = []
        var outcome = Outcome(coverage: world.coverage, violation: world.checker.violation, trace: world.trace)
        if let record = world.record {
            let handsOverCalls = world.settings.configuration.rawEvents != .none
            outcome.record = PromiseRecord(
                name: "seed \(self.seed)", turns: record.turns, handsOverCalls: handsOverCalls)
        }
        return outcome
    }

    private func runTurns(in world: SimulatedWorld) async {
        let instance = ChappieStreamingTransport(
            configuration: world.settings.configuration, transport: SimulatedTransport(world: world),
            clock: world.clock)
        for number in 0..<world.random.pick([1, 1, 2, 3, 5]) {
            if number > 0 { world.idle() }
            world.log("turn \(number + 1)")
            world.coverage.turnCount += 1
            await SimulatedTurn(world: world, instance: instance).run()
            if let violation = world.checker.violation { return world.log("VIOLATION \(violation.description)") }
        }
    }
}

extension ChappieTransportConfiguration {
    /// For traces.
    fileprivate var summary: String {
        "\(self.policy), HTTP retries \(self.maxHTTPRetries), delay \(self.reconnectDelay), \(self.rateLimitBackoff), "
            + "\(self.timeouts), \(self.limits), raw events \(self.rawEvents)"
    }
}

extension SimulatedWorld {
    /// Lets time pass between two turns, in which a kept connection may change.
    func idle() {
        if let kept = self.connections.last(where: { $0.isEstablished && !$0.isClosed }) {
            self.note(.keptConnection)
            self.drawFate(of: kept)
        }
        self.scheduler.now += self.random.duration(
            upTo: self.random.pick([.zero, .seconds(3), .seconds(100), .seconds(4_000)]))
    }

    /// Indicates whether a turn notices a peer that is silent, even one that has said a last word.
    private var endsSilence: Bool {
        self.settings.configuration.timeouts.pingInterval != nil
            || self.settings.allowsSilentStart && self.settings.allowsSilentMiddle
    }

    private func drawFate(of kept: SimulatedConnection) {
        let moment = self.now + self.random.duration(upTo: .seconds(3))
        switch self.random.below(14) {
        case 0:
            self.note(.keptDied)
            kept.schedule(.ended(.closed(code: 1006, reason: "")), at: moment)
        case 1:
            self.note(.keptClosedCleanly)
            kept.schedule(.ended(.closed(code: self.random.pick([1000, 1001, 1012]), reason: "")), at: moment)
        case 2 where self.endsSilence:
            self.note(.keptWentSilent)
            kept.die(at: moment)
        case 3:
            self.note(.keptSaidSomething)
            let json = self.random.pick([
                #"{"type":"keepalive"}"#, #"{"type":"response.output_text.delta","output_index":0,"delta":"late"}"#,
            ])
            kept.schedule(.payload(TimelineItem.Payload(kind: .text, bytes: Array(json.utf8)[...])), at: self.now)
        case 4: kept.fate = .reachesLimit
        case 5: kept.fate = .closesOnRequest
        case 6, 7: kept.fate = .saysLateEvents
        default: break
        }
    }
}
