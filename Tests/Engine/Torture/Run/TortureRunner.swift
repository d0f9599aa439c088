// Runs the plan: workers, the state file, the checks that concern many runs.
//
// The runner belongs to the main task. What workers share is behind a lock.
import Foundation
import PromiseRecord
import ResponseEvents
import StreamTransport

/// Runs everything.
final class TortureRunner: Sendable {
    private struct Progress {
        var state: TortureState
        var doneInThisProcess = 0
        var firstResidentByteCount: Int?
        var lastResidentByteCount: Int?
        var printedViolations = 0
        var isStopped = false
    }

    /// The number of violations that are printed one by one.
    private static let printedViolationLimit = 60
    /// The time limit for the process to release its resources after a session.
    private static let quietDuration = Duration.seconds(20)

    let options: TortureOptions
    let catalog: Catalog
    private let plan: TorturePlan
    private let records: PromiseRecordFile?
    private let progress: LockedValue<Progress>
    private let turns = RunningTurns()
    private let start = ContinuousClock.now

    /// Prepares to run a plan, from where `state` stands.
    init(
        _ options: TortureOptions, catalog: Catalog, plan: TorturePlan, state: TortureState,
        records: PromiseRecordFile? = nil
    ) {
        self.options = options
        self.records = records
        self.catalog = catalog
        self.plan = plan
        self.progress = LockedValue(Progress(state: state))
    }

    /// The results so far.
    var state: TortureState { self.progress.withLock { $0.state } }

    /// Indicates whether the run was asked to stop.
    var isStopped: Bool { self.progress.withLock { $0.isStopped } }

    /// Lets the workers end after the runs that they are in.
    func stop() { self.progress.withLock { $0.isStopped = true } }

    // MARK: The plan

    /// Runs everything that is not done yet.
    func run() async throws {
        let servers = Servers(cutting: try ReplayServer(), stalling: try ReplayServer())
        defer { servers.stop() }
        let monitor = Task.detached { await self.watch() }
        defer { monitor.cancel() }
        let quiet = await self.warmUp(servers)
        for part in self.plan.parts where !self.isStopped {
            let state = self.state
            let pieces = part.pieces.filter { !state.isFinished($0) }
            guard !pieces.isEmpty else { continue }
            await withTaskGroup(of: Void.self) { group in
                let cutting = PieceQueue(pieces.filter { !$0.combination.cut.isStall })
                let stalling = PieceQueue(pieces.filter { $0.combination.cut.isStall })
                for _ in 0..<self.options.jobs { group.addTask { await self.work(cutting, servers.cutting) } }
                for _ in 0..<self.options.jobs * 4 { group.addTask { await self.work(stalling, servers.stalling) } }
            }
            // A user who stops the run does not want to wait, and remaining resources are not meaningful then.
            if !self.isStopped { await self.checkLeaks(after: part.session, quiet) }
        }
        self.checkMemory()
        try? self.writeState()
    }

    private struct Servers {
        var cutting: ReplayServer
        var stalling: ReplayServer

        func stop() {
            self.cutting.stop()
            self.stalling.stop()
        }
    }

    /// Lets every thread begin that stays, and measures then.
    private func warmUp(_ servers: Servers) async -> ProcessUse? {
        guard let pieces = self.plan.parts.first?.pieces, let piece = pieces.first else { return nil }
        await withTaskGroup(of: Void.self) { group in
            for offset in piece.offsets.prefix(self.options.jobs * 2) {
                let torture = TortureCase(piece.combination, offset: offset)
                group.addTask { _ = await self.run(torture, servers.cutting) }
            }
        }
        return await self.whenQuiet(nil)
    }

    private func work(_ queue: PieceQueue, _ server: ReplayServer) async {
        while !self.isStopped, let piece = queue.next() {
            var tally = Tally()
            for offset in piece.offsets {
                guard !self.isStopped else { return }
                let torture = TortureCase(piece.combination, offset: offset)
                let (ending, violations) = await self.run(torture, server)
                tally.add(ending, isStall: piece.combination.cut.isStall, violations: violations)
                for violation in violations { self.tell(violation, of: torture) }
                self.noteRun()
            }
            self.progress.withLock { $0.state.finish(piece, tally) }
        }
    }

    // MARK: One run

    /// Runs one case.
    func run(_ torture: TortureCase, _ server: ReplayServer) async -> (RunEnding, [Violation]) {
        let (_, verdict, isHanging) = await self.transcribe(torture, server)
        guard let verdict else { return (.failed, [Violation(kind: .other, text: "there is no such session")]) }
        if isHanging {
            let text = "not over after \(RunningTurns.limit)"
            return (.failed, [Violation(kind: .hang, text: text)])
        }
        return (verdict.ending, verdict.violations)
    }

    /// Runs one case, and keeps what was seen.
    func transcribe(_ torture: TortureCase, _ server: ReplayServer) async -> (Transcript, Verdict?, Bool) {
        guard var script = self.catalog.script(for: torture, seed: self.options.seed) else {
            return (Transcript(), nil, false)
        }
        if self.records != nil {
            let stride = self.options.onlyCase == nil ? self.options.recordStride : 1
            script.isRecorded = torture.isRecorded(oneIn: stride, seed: self.options.seed)
        }
        let run = server.add(script)
        let turn = self.turns.begin(torture.name)
        let client = ClientTurn(
            port: server.port, wire: torture.combination.wire, dialect: torture.combination.wire.dialect, run: run,
            isImpatient: torture.combination.cut.isStall, restarts: torture.combination.replay == .restarting,
            isRecorded: script.isRecorded)
        let transcript = await client.transcript { self.turns.note($0, of: turn) }
        let isHanging = self.turns.end(turn)
        let observation = server.remove(run)
        if script.isRecorded { self.records?.write(PromiseRecord(torture, transcript, observation)) }
        let verdict = Verdict(
            script, replay: torture.combination.replay, transcript: transcript, observation: observation)
        return (transcript, verdict, isHanging)
    }

    private func noteRun() {
        let count = self.progress.withLock { progress in
            progress.doneInThisProcess += 1
            return progress.doneInThisProcess
        }
        guard count % 256 == 0, let bytes = ProcessUse.residentByteCount() else { return }
        let tenth = self.plan.runCount / 10
        self.progress.withLock { progress in
            if count >= tenth, progress.firstResidentByteCount == nil { progress.firstResidentByteCount = bytes }
            progress.lastResidentByteCount = bytes
        }
    }

    private func tell(_ violation: Violation, of torture: TortureCase) {
        let number = self.progress.withLock { progress in
            progress.printedViolations += 1
            return progress.printedViolations
        }
        guard number <= Self.printedViolationLimit else { return }
        Console.shared.line("VIOLATION (\(violation.kind.rawValue)): \(violation.text)")
        Console.shared.line("    torture --seed \(self.options.seed) --case \(torture.name)")
        if number == Self.printedViolationLimit { Console.shared.line("further ones are counted and not printed") }
    }

    // MARK: What concerns many runs

    private func watch() async {
        var second = 0
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            second += 1
            let stuck = self.turns.look()
            if !stuck.isEmpty {
                for name in stuck { Console.shared.line("HANG, cancelled in vain: torture --case \(name)") }
                try? self.writeState()
                exit(1)
            }
            if let limit = self.options.timeLimit, ContinuousClock.now - self.start > limit { self.stop() }
            if second % 3 == 0 { try? self.writeState() }
            self.showProgress()
        }
    }

    private func showProgress() {
        let (done, finished, violations) = self.progress.withLock { progress in
            (progress.doneInThisProcess, progress.state.runCount, progress.printedViolations)
        }
        let elapsed = (ContinuousClock.now - self.start).seconds
        let rate = Int(Double(done) / max(elapsed, 0.001))
        Console.shared.progress(
            "\(max(finished, done)) of \(self.plan.runCount) runs, \(rate) a second, \(violations) violations")
    }

    private func writeState() throws {
        try self.state.write(to: self.options.stateFile)
    }

    /// Waits until the process holds no more than `limit`, or, without one, until it holds the same for a second.
    private func whenQuiet(_ limit: ProcessUse?) async -> ProcessUse? {
        let deadline = ContinuousClock.now + Self.quietDuration
        var before = ProcessUse.now()
        var sameCount = 0
        while ContinuousClock.now < deadline, let now = ProcessUse.now() {
            if let limit, now.isWithin(limit) { return now }
            sameCount = now == before ? sameCount + 1 : 0
            if limit == nil, sameCount == 10 { return now }
            before = now
            try? await Task.sleep(for: .milliseconds(100))
        }
        return ProcessUse.now()
    }

    private func checkLeaks(after session: String, _ quiet: ProcessUse?) async {
        guard let quiet, let now = await self.whenQuiet(quiet), !now.isWithin(quiet) else { return }
        self.progress.withLock { $0.state.leaks += 1 }
        Console.shared.line("VIOLATION (leaks): \(now) after session \(session), \(quiet) before")
        Console.shared.line("    torture --seed \(self.options.seed) --sessions \(session)")
    }

    private func checkMemory() {
        let (first, last) = self.progress.withLock { ($0.firstResidentByteCount, $0.lastResidentByteCount) }
        guard let first, let last else { return }
        let text = "resident memory: \(first >> 20) MiB after the first tenth, \(last >> 20) MiB at the end"
        Console.shared.line(text)
        guard Double(last) > Double(first) * 1.5 + Double(32 << 20) else { return }
        self.progress.withLock { $0.state.leaks += 1 }
        Console.shared.line("VIOLATION (leaks): \(text)")
    }
}

/// Pieces that wait to be run.
final class PieceQueue: Sendable {
    private let pieces: LockedValue<ArraySlice<TorturePlan.Piece>>

    /// Pieces in the order in which they are taken.
    init(_ pieces: [TorturePlan.Piece]) { self.pieces = LockedValue(pieces[...]) }

    /// The next piece.
    func next() -> TorturePlan.Piece? { self.pieces.withLock { $0.popFirst() } }
}

extension PromiseRecord {
    /// One run; the client delivers every event that no delta carries.
    fileprivate init(_ torture: TortureCase, _ transcript: Transcript, _ observation: ReplayServer.Observation) {
        var turn = Turn()
        turn.maximumRestartCount = torture.combination.replay == .restarting ? 2 : 0
        turn.exchanges = observation.exchanges.map { exchange in
            var exchange = exchange
            exchange.dialect = torture.combination.wire.dialect
            return exchange
        }
        turn.received = transcript.events ?? []
        turn.error = transcript.error
        self.init(name: torture.name, turns: [turn], handsOverCalls: true)
    }
}

extension Duration {
    /// As a floating-point number.
    var seconds: Double { Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18 }
}
