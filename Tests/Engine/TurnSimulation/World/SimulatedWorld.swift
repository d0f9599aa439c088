// One instance's surroundings: its network, its server, its clock, its consumer's whims, and the checker of the
// promise.

import ChappieTransport
import StreamTransport
import TransportSurface

/// Everything around one instance of the engine.
/// - Safety: it is touched on its scheduler's thread only.
final class SimulatedWorld: @unchecked Sendable {
    /// An action of the consumer at a moment of its own.
    struct Interruption {
        let at: Duration
        let perform: () -> Void
    }

    /// The number of steps after which a turn counts as endless.
    static let maximumStepCount = 1_000_000

    let scheduler: SimulationScheduler
    let options: SimulationOptions
    var random: SimulatedRandom
    var checker = PromiseChecker()
    var coverage = Coverage()
    var connections: [SimulatedConnection] = []
    var settings: SimulatedConfiguration
    var server: SimulatedServer
    /// The events of the newest answer that finish a call, by the call's place among the calls.
    var calls: [Int: [ArraySlice<UInt8>]] = [:]
    var interruption: Interruption?
    /// Ends the turn from outside, when it is found to be endless.
    var breakOff: () -> Void = {}
    var credentials: SimulatedCredentials
    /// The end of the last turn.
    var lastEnd: Duration?
    private var stepsOfTurn = 0
    private(set) var trace: [String] = []
    /// Nil for a series that is not recorded.
    var record: SimulatedRecord?
    private var hasLoggedViolation = false

    init(seed: UInt64, options: SimulationOptions, scheduler: SimulationScheduler) {
        var random = SimulatedRandom(seed: seed)
        let credentials = SimulatedCredentials(&random)
        self.credentials = credentials
        self.scheduler = scheduler
        self.options = options
        self.settings = SimulatedConfiguration(&random, options: options) { _ in nil }
        // The oracle of records reads the Responses API.
        if options.isRecording, self.settings.configuration.dialect == .responses { self.record = SimulatedRecord() }
        self.server = SimulatedServer(&random)
        self.random = random
        for fact in self.settings.facts { self.coverage.note(fact) }
        self.settings.configuration.credential = { [unowned self] request in try self.credential(for: request) }
        if self.settings.givesToolOutputs {
            self.settings.configuration.toolOutput = { [unowned self] call in try self.toolOutput(for: call) }
        }
        scheduler.deadlocked = { [unowned self] in self.stuck("every task waits for ever") }
    }

    /// The virtual time.
    var now: Duration { self.scheduler.now }

    /// The engine's clock.
    var clock: ClientClock {
        ClientClock(
            moment: { Moment(nanoseconds: self.now.nanoseconds) },
            fraction: { self.random.fraction() },
            sleep: { try await self.sleep(for: $0) })
    }

    // MARK: Counting

    func note(_ fact: SimulatedFact) { self.coverage.note(fact) }

    /// Counts one step; a turn that takes too many is broken off.
    func step() {
        self.coverage.stepCount += 1
        self.stepsOfTurn += 1
        if self.stepsOfTurn == Self.maximumStepCount { self.stuck("the turn takes \(self.stepsOfTurn) steps") }
    }

    func beginTurn() {
        self.stepsOfTurn = 0
        self.record?.beginTurn(under: self.settings.configuration.policy)
    }

    func log(_ line: @autoclosure () -> String) {
        guard self.options.isTracing else { return }
        if !self.hasLoggedViolation, let violation = self.checker.violation {
            self.hasLoggedViolation = true
            self.trace.append("*** broken: \(violation)")
        }
        self.trace.append("\((self.now - .seconds(1_000)).secondsText)  \(line())")
    }

    func stuck(_ description: String) {
        self.log("broken off: \(description)")
        self.checker.stuck(description)
        self.checker.cancelled()
        self.breakOff()
    }

    // MARK: Time

    /// Lets time pass in which the engine reads.
    func readingTakes(_ duration: Duration) {
        self.scheduler.now += duration
        self.interruptIfDue()
    }

    private func sleep(for delay: Duration) async throws {
        self.step()
        self.log("sleep for \(delay)")
        self.checker.slept(delay, now: self.now)
        let end = self.now + max(.zero, delay)
        while self.now < end {
            try Task.checkCancellation()
            await self.scheduler.pass(until: min(end, self.interruption?.at ?? end))
            self.interruptIfDue()
        }
        try Task.checkCancellation()
    }

    /// Waits for one of the connections, the deadline, or a cancellation.
    func wait(for connections: [SimulatedConnection], atMost duration: Duration?) async -> TransportWaitOutcome {
        self.step()
        let deadline = duration.map { self.now + max(.zero, $0) }
        while true {
            if Task.isCancelled { return .cancelled }
            if connections.contains(where: { $0.isReady(at: self.now) }) { return .ready }
            if let deadline, self.now >= deadline { return .deadlinePassed }
            let moments = connections.map(\.nextMoment) + [deadline, self.interruption?.at]
            guard let moment = moments.compactMap({ $0 }).min() else {
                self.stuck("the engine waits for ever")
                return .cancelled
            }
            await withTaskCancellationHandler {
                await self.scheduler.pass(until: moment)
            } onCancel: {
                self.scheduler.wakeAll()
            }
            self.interruptIfDue()
        }
    }

    private func interruptIfDue() {
        guard let interruption = self.interruption, interruption.at <= self.now else { return }
        self.interruption = nil
        interruption.perform()
    }

    // MARK: The caller's side

    private func credential(
        for request: ChappieTransportConfiguration.CredentialRequest
    ) throws -> ChappieCredential? {
        self.step()
        let outcome = self.credentials.answer(request, &self.random)
        for fact in outcome.facts { self.note(fact) }
        self.log(
            "credential for \(request): \(outcome.error == nil ? "version \(self.credentials.version)" : "throws")")
        if let error = outcome.error { throw error }
        return self.credentials.current
    }

    private func toolOutput(for call: String) throws -> [UInt8] {
        self.step()
        self.log("output of \(call)")
        if self.random.chance(2) {
            self.note(.toolOutputThrows)
            throw SimulatedCredentialError()
        }
        self.note(.toolOutputGiven)
        if let start = call.utf8Offset(behind: #""call_id":"call_"#) {
            let digits = call.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "\"") }
            if let ordinal = Int(String(Substring(digits))) { self.checker.askedForOutput(ofCall: ordinal) }
        }
        return Array(#"{"type":"function_call_output","call_id":"c","output":"[{}]"}"#.utf8)
    }
}

extension Duration {
    /// Seconds with six digits, for traces.
    var secondsText: String {
        let microseconds = self.components.seconds * 1_000_000 + self.components.attoseconds / 1_000_000_000_000
        let fraction = "\(1_000_000 + microseconds % 1_000_000)".dropFirst()
        return "\(microseconds / 1_000_000).\(fraction)"
    }
}
