// One stream to a thousand viewers: the relay beside a bare fan-out of the same bytes, in rounds.
//
//   relay-fan-out [--results FILE] [FILTER]
//
// A server of models sends 50 texts a second with the time of each. The viewers are one program with epoll, which notes
// when each text arrives. The server, the relay and the bare fan-out are processes of their own, so that the processor
// time of each is known. The viewers share the machine with them: latencies have their work in them, in both cases.
import BenchmarkResults
import CFanOut
import ChappieRelay
import ChappieTransport
import Foundation
import RelayService

/// A process of this program in another role.
final class Role {
    private let process = Process()
    private let input = Pipe()
    /// The port on which it listens.
    let port: UInt16

    var identifier: pid_t { self.process.processIdentifier }

    init(_ arguments: String...) throws {
        let output = Pipe()
        self.process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        self.process.arguments = arguments
        self.process.standardInput = self.input
        self.process.standardOutput = output
        try self.process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), let first = byte.first, first != 0x0A {
            line.append(first)
        }
        guard let port = UInt16(String(decoding: line, as: UTF8.self).dropFirst(5)) else { throw Failure.noPort }
        self.port = port
    }

    func end() {
        self.process.terminate()
        self.process.waitUntilExit()
    }
}

enum Failure: Error {
    case noPort, noStream
    case lostTexts(received: Int, sent: Int)
}

/// The measurement of one stream.
struct Reading {
    /// The milliseconds below which 99 of 100 texts arrive.
    let latency: Double
    /// The nanoseconds of processor time for each text of each viewer.
    let processorTime: Double

    static let stream = cfo_stream(count: 250, interval: 20_000)
    static let viewerCount: UInt32 = 1000

    init(of role: Role, path: String) throws {
        let sent = Int(Self.stream.count) * Int(Self.viewerCount)
        var before: UInt64 = 0
        let latencies = [UInt64](unsafeUninitializedCapacity: sent + 1) { memory, count in
            count = cfo_view(
                role.port, path, Self.viewerCount, role.identifier, &before, memory.baseAddress, memory.count)
        }
        guard latencies.count == sent else { throw Failure.lostTexts(received: latencies.count, sent: sent) }
        self.latency = Double(latencies.sorted()[sent * 99 / 100]) / 1e6
        // From the first text on, when all viewers are there; each server waits for its parent behind the stream.
        self.processorTime = Double(cfo_processor_time(role.identifier) - before) / Double(sent)
    }
}

@main
struct RelayFanOut {
    private static let workload = "\(Reading.viewerCount)-viewers"
    private static let roundCount = 5

    static func main() async throws {
        cfo_raise_descriptor_limit()
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "upstream": exit(cfo_serve_upstream(Reading.stream, 2_000_000))
        case "bare":
            guard cfo_serve_bare(Reading.stream, Reading.viewerCount) == 0 else { exit(1) }
            _ = try? FileHandle.standardInput.readToEnd()
        case "relay": try await self.serve(upstream: arguments[1], journal: arguments[2])
        default: exit(try self.measure(arguments))
        }
    }

    private static func serve(upstream: String, journal path: String) async throws {
        guard let url = URL(string: upstream) else { throw Failure.noPort }
        var upstream = ChappieTransportConfiguration(baseURL: url)
        upstream.dialect = .chatCompletions
        upstream.proxy = .none
        upstream.rawEvents = .none
        let journal = try ChappieSQLiteJournal(path: path)
        let hub = ChappieHub(transport: ChappieStreamingTransport(configuration: upstream), journal: journal)
        let relay = Relay(hub, RelayConfiguration())
        let port = try await relay.start()
        try FileHandle.standardOutput.write(contentsOf: Data("port \(port)\n".utf8))
        _ = try? FileHandle.standardInput.readToEnd()
    }

    private static func measure(_ arguments: [String]) throws -> Int32 {
        var (results, filter) = (nil as ResultFile?, "")
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--results" {
                results = rest.popFirst().map { ResultFile(path: $0) }
            } else {
                filter = argument
            }
        }
        guard filter.isEmpty || "relay \(self.workload)".contains(filter) else { return 2 }
        let folder = FileManager.default.temporaryDirectory.appending(path: "relay-fan-out-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let upstream = try Role("upstream")
        defer { upstream.end() }
        let relay = try Role("relay", "http://127.0.0.1:\(upstream.port)/v1", folder.appending(path: "journal").path)
        defer { relay.end() }
        var (bares, relays): ([Reading], [Reading]) = ([], [])
        for round in 1...self.roundCount {
            let bare = try Role("bare")
            bares.append(try Reading(of: bare, path: "/"))
            bare.end()
            var path = [CChar](repeating: 0, count: 128)
            guard cfo_start_stream(relay.port, &path, path.count) == 1 else { throw Failure.noStream }
            let name = String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            relays.append(try Reading(of: relay, path: name))
            print(
                "round \(round): bare \(bares.last.map { "\($0)" } ?? ""), relay \(relays.last.map { "\($0)" } ?? "")")
        }
        let more = zip(relays, bares).map { $0.latency - $1.latency }
        let ratio = zip(relays, bares).map { $0.processorTime / $1.processorTime }
        let figures = [
            self.figure("p99 of the latency beyond the bare fan-out's", "ms", more, atMost: 5),
            self.figure("p99 of the latency", "ms", relays.map(\.latency)),
            self.figure("p99 of the latency", "ms", bares.map(\.latency), of: ResultFigure.machineSubject),
            self.figure("processor time beside the bare fan-out", "×", ratio, atMost: 2),
            self.figure("processor time of a text at a viewer", "ns", relays.map(\.processorTime)),
            self.figure(
                "processor time of a text at a viewer", "ns", bares.map(\.processorTime),
                of: ResultFigure.machineSubject),
        ]
        try results?.append(figures)
        return more.median > 5 || ratio.median > 2 ? 1 : 0
    }

    private static func figure(
        _ measure: String, _ unit: String, _ runs: [Double], of subject: String = ResultFigure.ownSubject,
        atMost limit: Double? = nil
    ) -> ResultFigure {
        ResultFigure(
            group: "relay", workload: self.workload, subject: subject,
            way: subject == ResultFigure.machineSubject ? "bare fan-out" : "EventSource", measure: measure, unit: unit,
            runs: runs, bar: limit.map { ResultFigure.Bar(atMost: $0) })
    }
}
