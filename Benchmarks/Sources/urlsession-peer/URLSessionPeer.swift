// Reads responses of stream-server with FoundationNetworking's URLSession, and times it.
//
// usage: urlsession-peer TASK
//
// Task and output are those of Benchmarks/Peers/stream_peers.py. It has no WebSocket on Linux.
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The command.
@main
struct URLSessionPeer {
    static func main() async {
        do {
            let arguments = CommandLine.arguments
            guard arguments.count == 2 else { throw PeerError("usage: urlsession-peer TASK") }
            let task = try JSONDecoder().decode(PeerTask.self, from: Data(arguments[1].utf8))
            let result = try JSONEncoder().encode(try await Self.measure(task))
            print(String(decoding: result, as: UTF8.self))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    /// Finds the largest response that can be read in the time of a run, checks it, and times it.
    private static func measure(_ task: PeerTask) async throws -> PeerResult {
        guard var chosen = task.sizes.first else { throw PeerError("no sizes") }
        // A pass before all others starts threads and fills caches.
        _ = try await self.run(task, chosen)
        for size in task.sizes.dropFirst() {
            let seconds = try await self.run(task, chosen).seconds
            if seconds * Double(size.deltaCount) / Double(chosen.deltaCount) > task.seconds { break }
            chosen = size
        }
        var result = PeerResult(deltaCount: chosen.deltaCount, check: try await self.run(task, chosen, checks: true))
        for _ in 0..<task.runCount { result.runs.append(try await self.run(task, chosen)) }
        return result
    }

    /// Reads all streams once.
    private static func run(_ task: PeerTask, _ size: PeerTask.Size, checks: Bool = false) async throws -> PeerRun {
        guard let url = URL(string: size.url + "/responses") else { throw PeerError("no URL: \(size.url)") }
        let (processor, start) = (Self.processorSeconds, ContinuousClock.now)
        let bodies = try await withThrowingTaskGroup(of: BodyReader.Body.self) { group in
            for _ in 0..<task.streamCount {
                group.addTask { try await BodyReader(checks: checks, isCompressed: task.isCompressed).read(url) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        return PeerRun(
            seconds: seconds, processorSeconds: Self.processorSeconds - processor,
            streams: bodies.map {
                PeerRun.Stream(
                    eventCount: size.deltaCount, bodyByteCount: $0.byteCount,
                    bodyChecksum: checks ? $0.checksum.value : nil)
            })
    }

    /// The processor time of all threads, in seconds.
    private static var processorSeconds: Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
}
