// Echoes what the Autobahn test suite's fuzzing server sends, case after case, through the product WebSocketClient.
// Usage: autobahn-client --url ws://127.0.0.1:9001 --agent NAME [--cases N-M] [--ca-file FILE] [--lends even|odd]
//
// The cases with even numbers are read in the borrowed form, the others as `messages`; with `--lends odd` it is the
// other way round, so that two runs read each case in both forms.

import Foundation
import WebSocketClient

@main
struct AutobahnClient {
    let url: URL
    let agent: String
    let cases: ClosedRange<Int>?
    let tls: ChappieTLSPolicy
    let lends: Lends

    /// The numbers of the cases that are read in the borrowed form.
    enum Lends: String {
        case even
        case odd

        func contains(_ number: Int) -> Bool { number.isMultiple(of: 2) == (self == .even) }
    }

    static func main() async {
        guard let client = Self(arguments: CommandLine.arguments) else {
            FileHandle.standardError.write(
                Data(
                    ("usage: autobahn-client --url URL --agent NAME [--cases N-M] [--ca-file FILE] "
                        + "[--lends even|odd]\n").utf8))
            exit(64)
        }
        exit(await client.run() ? 0 : 1)
    }

    init?(arguments: [String]) {
        var options: [String: String] = [:]
        for index in stride(from: 1, to: arguments.count - 1, by: 2) {
            options[arguments[index]] = arguments[index + 1]
        }
        guard let text = options["--url"], let url = URL(string: text), let agent = options["--agent"],
            let lends = Lends(rawValue: options["--lends"] ?? Lends.even.rawValue)
        else { return nil }
        self.url = url
        self.agent = agent
        self.lends = lends
        self.cases = options["--cases"].flatMap { range in
            let bounds = range.split(separator: "-").compactMap { Int($0) }
            return bounds.count == 2 && bounds[0] <= bounds[1] ? bounds[0]...bounds[1] : nil
        }
        self.tls = ChappieTLSPolicy(trust: options["--ca-file"].map { .file(path: $0) } ?? .system)
    }

    func run() async -> Bool {
        let count: Int
        do {
            count = try await self.caseCount()
        } catch {
            print("the server does not say how many cases it has: \(error)")
            return false
        }
        for number in self.cases ?? 1...count {
            await self.echo("/runCase?case=\(number)&agent=\(self.agent)", lends: self.lends.contains(number))
        }
        // A question of its own: when it is answered, the server has seen the end of the last case.
        _ = try? await self.caseCount()
        await self.echo("/updateReports?agent=\(self.agent)")
        print("\((self.cases ?? 1...count).count) cases of \(count) run")
        return true
    }

    private func caseCount() async throws -> Int {
        let connection = try await self.connect("/getCaseCount")
        defer { connection.cancel() }
        guard case .text(let text)? = try await connection.receive(), let count = Int(text) else {
            throw WebSocketError.notOpen
        }
        return count
    }

    /// Sends every message back until the server ends the case.
    private func echo(_ target: String, lends: Bool = false) async {
        do {
            let connection = try await self.connect(target)
            if lends { return try await self.echoLent(connection) }
            for try await message in connection.messages { try await connection.send(message) }
        } catch let error as WebSocketError {
            // The end of a case is what the case is about, and judged by the server.
            switch error {
            case .closed, .notOpen, .transport: return
            case .refused, .invalidArgument, .alreadyReceiving: print("\(target): \(error)")
            }
        } catch {
            print("\(target): \(error)")
        }
    }

    private func echoLent(_ connection: WebSocketConnection) async throws {
        while let message = try await connection.withNextMessage({ kind, bytes -> WebSocketMessage in
            let copy = bytes.withUnsafeBytes { Array($0) }
            return kind == .text ? .text(String(decoding: copy, as: UTF8.self)) : .binary(copy)
        }) { try await connection.send(message) }
    }

    private func connect(_ target: String) async throws -> WebSocketConnection {
        guard let url = URL(string: target, relativeTo: self.url)?.absoluteURL else {
            throw WebSocketError.notOpen
        }
        var configuration = WebSocketConfiguration(url: url)
        configuration.tls = self.tls
        configuration.proxy = .none
        // A case with much data takes the server some time, and so does its start on a busy machine.
        configuration.timeouts.connect = .seconds(60)
        configuration.timeouts.close = .seconds(10)
        return try await WebSocketConnection.open(configuration)
    }
}
