// Echoes what the Autobahn test suite's fuzzing server sends, case after case, over the package's own transport.
// Usage: autobahn-client --url ws://127.0.0.1:9001 --agent NAME [--cases N-M] [--ca-file FILE]

import Foundation
import LibwebsocketsTransport
import StreamTransport

@main
struct AutobahnClient {
    let url: URL
    let agent: String
    let cases: ClosedRange<Int>?
    let transport: LibwebsocketsTransport

    static func main() async {
        guard let client = Self(arguments: CommandLine.arguments) else {
            FileHandle.standardError.write(
                Data("usage: autobahn-client --url URL --agent NAME [--cases N-M] [--ca-file FILE]\n".utf8))
            exit(64)
        }
        exit(await client.run() ? 0 : 1)
    }

    init?(arguments: [String]) {
        var options: [String: String] = [:]
        for index in stride(from: 1, to: arguments.count - 1, by: 2) {
            options[arguments[index]] = arguments[index + 1]
        }
        guard let text = options["--url"], let url = URL(string: text), let agent = options["--agent"] else {
            return nil
        }
        self.url = url
        self.agent = agent
        self.cases = options["--cases"].flatMap { range in
            let bounds = range.split(separator: "-").compactMap { Int($0) }
            return bounds.count == 2 && bounds[0] <= bounds[1] ? bounds[0]...bounds[1] : nil
        }
        self.transport = LibwebsocketsTransport(
            tls: ChappieTLSPolicy(trust: options["--ca-file"].map { .file(path: $0) } ?? .system))
    }

    func run() async -> Bool {
        guard let count = await self.caseCount() else {
            print("the server does not say how many cases it has")
            return false
        }
        for number in self.cases ?? 1...count {
            await self.echo("/runCase?case=\(number)&agent=\(self.agent)")
        }
        // A question of its own: when it is answered, the server has seen the end of the last case.
        _ = await self.caseCount()
        await self.echo("/updateReports?agent=\(self.agent)")
        print("\((self.cases ?? 1...count).count) cases of \(count) run")
        return true
    }

    private func caseCount() async -> Int? {
        let connection = self.connect("/getCaseCount")
        defer { connection.cancel() }
        while true {
            guard let event = connection.next() else {
                _ = await connection.wait(for: .seconds(10))
                continue
            }
            switch event {
            case .opened, .ready, .pong: continue
            case .payload(let payload): return Int(String(decoding: payload.bytes, as: UTF8.self))
            case .ended: return nil
            }
        }
    }

    /// Sends every message back until the server ends the case.
    private func echo(_ target: String) async {
        let connection = self.connect(target)
        while true {
            guard let event = connection.next() else {
                if await connection.wait(for: .seconds(60)) != .ready {
                    print("\(target): nothing for 60 s")
                    return connection.cancel()
                }
                continue
            }
            switch event {
            case .opened(let head) where head.statusCode != 101:
                print("\(target): status code \(head.statusCode)")
                return connection.cancel()
            case .opened, .ready, .pong:
                continue
            case .payload(let payload):
                guard payload.kind == .binary || String(validating: payload.bytes, as: UTF8.self) != nil else {
                    connection.fail(code: 1007)
                    continue
                }
                connection.send(Array(payload.bytes), as: payload.kind == .text ? .text : .binary)
            case .ended:
                return
            }
        }
    }

    private func connect(_ target: String) -> any TransportConnection {
        let endpoint = TransportEndpoint(
            isSecure: self.url.scheme == "wss",
            host: self.url.host ?? "127.0.0.1",
            port: UInt16(self.url.port ?? 9001),
            target: target)
        return self.transport.connect(
            TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: true)))
    }
}
