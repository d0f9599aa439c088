// Cuts the wire at every byte of whole sessions, on real sockets, and counts broken promises.
//
// The main task owns everything here.
import ChappieTransport
import Dispatch
import Foundation
import PromiseRecord

/// The command `torture`.
@main
struct TortureCommand {
    static func main() async {
        do {
            let options = try TortureOptions(Array(CommandLine.arguments.dropFirst()))
            if options.wantsHelp { return Console.shared.line(TortureOptions.usage) }
            exit(try await Self.run(options))
        } catch let problem as TortureOptions.Problem {
            Console.shared.line("\(problem)\n\(TortureOptions.usage)")
            exit(2)
        } catch {
            Console.shared.line("torture: \(error)")
            exit(1)
        }
    }

    private static func run(_ options: TortureOptions) async throws -> Int32 {
        // A peer that is gone is an error of the call, and no signal.
        signal(SIGPIPE, SIG_IGN)
        if options.playsCorpus { return try await CorpusRun(options).run() }
        let sessions = try self.sessions(options)
        let start = ContinuousClock.now
        let catalog = try await Catalog(sessions, seed: options.seed)
        let time = String(format: "%.1f", (ContinuousClock.now - start).seconds)
        Console.shared.line("\(sessions.count) sessions were rendered by the test server and read uncut, in \(time) s")
        let plan = TorturePlan(options, sessions: sessions, catalog: catalog)
        if let only = options.onlyCase { return try await self.runOnly(only, options, catalog, plan) }
        return try await self.runAll(options, catalog, plan)
    }

    private static func sessions(_ options: TortureOptions) throws -> [Session] {
        let recorded = RecordedSessions.find()
        for found in recorded {
            Console.shared.line(
                "\(found.session.name): \(found.file ?? "no recordings are there, so a hand-made one takes its place")")
        }
        let all = Session.made + recorded.map(\.session)
        let wanted = options.onlyCase.map { [$0.combination.session] } ?? options.sessions
        if let unknown = wanted?.first(where: { name in !all.contains { $0.name == name } }) {
            let names = all.map(\.name).joined(separator: ", ")
            throw TortureOptions.Problem(description: "there is no session \(unknown), only \(names)")
        }
        return all.filter { wanted?.contains($0.name) ?? true }
    }

    // MARK: Everything

    private static func runAll(_ options: TortureOptions, _ catalog: Catalog, _ plan: TorturePlan) async throws -> Int32
    {
        let fingerprint = TortureState.programFingerprint + plan.fingerprint
        let state = self.beginning(options, fingerprint: fingerprint)
        let records = try self.recordFile(options, isContinued: state.runCount > 0)
        let runner = TortureRunner(options, catalog: catalog, plan: plan, state: state, records: records)
        let before = runner.state.runCount
        let signals = [SIGINT, SIGTERM].map { number in self.onSignal(number) { runner.stop() } }
        let start = ContinuousClock.now
        try await runner.run()
        let seconds = (ContinuousClock.now - start).seconds
        withExtendedLifetime(signals) {}
        let end = runner.state
        Console.shared.line(TortureTable.text(plan, end, wires: options.wires))
        let rate = Int(Double(end.runCount - before) / max(0.001, seconds))
        Console.shared.line("\(Int(seconds)) s, \(rate) runs a second")
        let isWhole = end.runCount >= plan.runCount
        if isWhole {
            // The next invocation begins anew.
            try? FileManager.default.removeItem(atPath: options.stateFile)
        } else {
            Console.shared.line("stopped after \(end.runCount) of \(plan.runCount) runs; the same command goes on")
        }
        Console.shared.line("\(end.runCount) runs, \(end.violationCount) violations")
        if end.violationCount > 0 { return 1 }
        return isWhole || options.timeLimit != nil ? 0 : 130
    }

    /// The file of records; a run that goes on adds to it.
    private static func recordFile(_ options: TortureOptions, isContinued: Bool) throws -> PromiseRecordFile? {
        guard let path = options.recordFile else { return nil }
        guard let file = PromiseRecordFile(path: path, appends: isContinued) else {
            throw TortureOptions.Problem(description: "--record: cannot write \(path)")
        }
        return file
    }

    private static func beginning(_ options: TortureOptions, fingerprint: String) -> TortureState {
        let fresh = TortureState(fingerprint: fingerprint)
        guard !options.isFresh, let state = TortureState(file: options.stateFile) else { return fresh }
        guard state.fingerprint == fingerprint else {
            Console.shared.line("\(options.stateFile) is of another program or another plan: beginning anew")
            return fresh
        }
        Console.shared.line("going on after \(state.runCount) runs")
        return state
    }

    private static func onSignal(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal
    {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler(handler: action)
        source.resume()
        return source
    }

    // MARK: One case

    private static func runOnly(
        _ only: TortureCase, _ options: TortureOptions, _ catalog: Catalog, _ plan: TorturePlan
    ) async throws -> Int32 {
        let runner = TortureRunner(
            options, catalog: catalog, plan: plan, state: TortureState(fingerprint: plan.fingerprint),
            records: try self.recordFile(options, isContinued: false))
        let server = try ReplayServer()
        defer { server.stop() }
        let (transcript, verdict, isHanging) = await runner.transcribe(only, server)
        for entry in transcript.entries { Console.shared.line("  \(entry)") }
        for attempt in transcript.report?.attempts ?? [] {
            Console.shared.line(
                "attempt \(attempt.number): \(attempt.transport.rawValue), \(attempt.outcome ?? "running")")
        }
        Console.shared.line("error: \(transcript.error.map { String(describing: $0) } ?? "none")")
        let violations = verdict?.violations ?? [Violation(kind: .other, text: "there is no such case")]
        for violation in violations { Console.shared.line("VIOLATION (\(violation.kind.rawValue)): \(violation.text)") }
        Console.shared.line("\(only.name): \(verdict?.ending.rawValue ?? "not run"), \(violations.count) violations")
        return violations.isEmpty && !isHanging ? 0 : 1
    }
}
