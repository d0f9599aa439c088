// Connects and cancels, at every stage of a connection, and expects that no resources are left.
// Usage: connection-churn [--count N] [--threads N] [--clients true]
//        --clients true makes the connections by WebSocketClient and EventSource, and ends them in every way.
//        connection-churn limit

import Foundation
import LibwebsocketsTransport
import StreamTransport

/// Fails when a descriptor is left, or memory in use that grows with the number of connections.
@main struct ConnectionChurn {
    /// The number of concurrent connections.
    private static let width = 32
    /// Caches that fill once: of the allocator, of OpenSSL, of the threads.
    private static let allowedByteCount = 384 << 10

    static func main() async throws {
        if CommandLine.arguments.dropFirst().first == "serve" { return try ChurnServers.serve() }
        if CommandLine.arguments.dropFirst().first == "limit" { exit(try await RaisedLimit.run() ? 0 : 1) }
        let options = Self.options()
        let servers = try ChurnServers()
        let hole = try SilentPort()
        let places = ChurnPlaces(servers: servers, hole: hole, threadCount: options.threads)

        let clients = try ChurnClients(servers: servers, closedPort: hole.port, threadCount: options.threads)

        /// Makes the connection with this number.
        @Sendable func connect(_ number: Int) async -> String? {
            if options.isOfClients {
                return await ClientStage.allCases[number % ClientStage.allCases.count].run(with: clients)
            }
            return await ChurnStage.allCases[number % ChurnStage.allCases.count].run(in: places)
        }

        Self.say("warming up")
        var failures = await Self.run(max(2_000, options.count / 10), connect)
        let before = try await Self.settled(places)
        Self.say("before: \(before)")
        let start = ContinuousClock.now
        failures.merge(await Self.run(options.count, connect)) { $0 + $1 }
        let time = ContinuousClock.now - start
        let after = try await Self.settled(places)
        Self.say("after:  \(after)")

        let growth = after.usedByteCount - before.usedByteCount
        Self.say(
            "\(options.count) connections in \(time.formatted(.units(allowed: [.seconds], width: .narrow))): "
                + "\(after.descriptorCount - before.descriptorCount) descriptors and \(growth) bytes more in use")
        for (fault, count) in failures.sorted(by: { $0.key < $1.key }) { Self.say("\(count) × \(fault)") }
        withExtendedLifetime((servers, hole)) {}
        let isClean = after.descriptorCount == before.descriptorCount && growth <= Self.allowedByteCount
        Self.say(isClean && failures.isEmpty ? "churn: nothing is left" : "churn: FAILED")
        exit(isClean && failures.isEmpty ? 0 : 1)
    }

    /// Makes that many connections; what went otherwise than it should, and how often.
    private static func run(
        _ count: Int, _ connect: @escaping @Sendable (Int) async -> String?
    ) async -> [String: Int] {
        await withTaskGroup(of: String?.self) { group in
            var failures: [String: Int] = [:]
            for number in 0..<count {
                if number >= Self.width, let fault = await group.next() ?? nil { failures[fault, default: 0] += 1 }
                group.addTask { await connect(number) }
            }
            for await fault in group { if let fault { failures[fault, default: 0] += 1 } }
            return failures
        }
    }

    /// Returns the resources of the process when every connection is gone.
    private static func settled(_ places: ChurnPlaces) async throws -> ProcessHoldings {
        await LibwebsocketsTransport.finishClosing(within: .seconds(10))
        // One exchange on each thread behind everything that came before. What it leaves is the same each time.
        for _ in 0..<2 * places.threadCount {
            if let fault = await ChurnStage.whole.run(in: places) { Self.say("\(fault)") }
        }
        return try ProcessHoldings()
    }

    private struct Options {
        var count = 100_000
        var threads = 1
        /// Indicates whether the connections are those of the clients, and not of the transport below them.
        var isOfClients = false
    }

    private static func options() -> Options {
        var result = Options()
        let arguments = CommandLine.arguments
        for index in stride(from: 1, to: arguments.count - 1, by: 2) {
            switch arguments[index] {
            case "--count": result.count = Int(arguments[index + 1]) ?? result.count
            case "--threads": result.threads = Int(arguments[index + 1]) ?? result.threads
            case "--clients": result.isOfClients = arguments[index + 1] == "true"
            default: break
            }
        }
        return result
    }

    /// At once, also into a pipe.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
