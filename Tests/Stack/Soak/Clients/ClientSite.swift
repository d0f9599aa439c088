// The servers of the clients' streams.
import ChappieTestServer
import EventSource
import Foundation
import StreamTransport
import WebSocketClient

/// Everything that streams of the clients connect to.
///
/// The servers end with it.
final class ClientSite: SoakStreams {
    static let others = [
        "pings of clients", "pings of servers", "closes of clients", "closes of servers", "reconnections",
    ]

    private let plain: PeerServer
    private let secure: PeerServer
    private let authority: URL
    /// The violations and counts of the servers' ends.
    private let seen: SoakRecord

    init() throws {
        let seen = SoakRecord(others: [])
        self.seen = seen
        self.plain = try PeerServer(tls: nil, pingInterval: SoakTimes.serverPingInterval) {
            try Self.answer($0, seen)
        }
        self.secure = try PeerServer(tls: .init(), pingInterval: SoakTimes.serverPingInterval) {
            try Self.answer($0, seen)
        }
        self.authority = FileManager.default.temporaryDirectory.appending(path: "soak-\(UUID().uuidString).pem")
        try (self.secure.caPEM ?? "").write(to: self.authority, atomically: true, encoding: .utf8)
    }

    deinit {
        self.plain.stop()
        self.secure.stop()
        try? FileManager.default.removeItem(at: self.authority)
    }

    // MARK: Streams

    func run(seed: UInt64, _ record: SoakRecord) async {
        let plan = ClientPlan(seed: seed)
        // In a task of its own, which some consumers cancel.
        await Task { await self.run(plan, record) }.value
        self.seen.moveOthers(to: record)
    }

    func warmUp(seed: UInt64, _ record: SoakRecord) async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<48 { group.addTask { await self.run(seed: seed &+ UInt64(index), record) } }
        }
    }

    var violations: [String] { self.seen.violations }

    private func run(_ plan: ClientPlan, _ record: SoakRecord) async {
        let number = record.begin(plan)
        do {
            if plan.kind == .faulty {
                let proxy = try FaultProxy(
                    upstream: .init(host: "127.0.0.1", port: self.port(of: plan)),
                    plan: .drawn(seed: plan.seed &+ 4, byteCount: 100_000, hasPings: plan.isWebSocket))
                defer { proxy.stop() }
                record.count { $0.faultyStreams += 1 }
                try await self.read(plan, port: proxy.port, record, number)
            } else {
                try await self.read(plan, port: self.port(of: plan), record, number)
            }
        } catch {
            record.violation("\(plan): \(error)")
        }
        record.end(number)
    }

    private func read(_ plan: ClientPlan, port: Int, _ record: SoakRecord, _ number: Int) async throws {
        if plan.isWebSocket {
            let configuration = try self.webSocket(plan, port: port)
            try await WebSocketSoak(plan: plan, configuration: configuration, record: record, number: number).run()
        } else {
            let source = try self.eventSource(plan, port: port)
            try await EventSourceSoak(plan: plan, record: record, number: number).read(source)
        }
    }

    // MARK: Clients

    private func port(of plan: ClientPlan) -> Int { plan.isSecure ? self.secure.port : self.plain.port }

    private func url(_ plan: ClientPlan, _ scheme: String, port: Int) throws -> URL {
        let text = "\(scheme)\(plan.isSecure ? "s" : "")://127.0.0.1:\(port)/?plan=\(plan.seed)"
        guard let url = URL(string: text) else { throw URLError(.badURL) }
        return url
    }

    private func webSocket(_ plan: ClientPlan, port: Int) throws -> WebSocketConfiguration {
        var configuration = WebSocketConfiguration(url: try self.url(plan, "ws", port: port))
        configuration.tls.trust = .file(path: self.authority.path)
        configuration.proxy = .none
        configuration.compression = !plan.isCompressed ? .disabled : plan.seed % 2 == 0 ? .enabled : .lowMemory
        configuration.timeouts.pingInterval = SoakTimes.pingInterval
        // A server that pauses does not answer pings meanwhile.
        configuration.timeouts.pongTimeout = plan.isServerPausing ? SoakTimes.silence : SoakTimes.pongTimeout
        configuration.timeouts.close = SoakTimes.silence
        // So little is read ahead, and waits to be sent, that both stop and start many times.
        configuration.limits.highWatermark = 32 << 10
        configuration.limits.lowWatermark = 8 << 10
        configuration.limits.sendWatermark = 32 << 10
        return configuration
    }

    private func eventSource(_ plan: ClientPlan, port: Int) throws -> EventSource {
        var configuration = EventSourceConfiguration()
        configuration.tls.trust = .file(path: self.authority.path)
        configuration.proxy = .none
        configuration.offersCompression = plan.isCompressed
        configuration.reconnection.reconnectionTime = .milliseconds(5)
        configuration.reconnection.backoff = .zero
        configuration.timeouts.response = SoakTimes.silence
        configuration.timeouts.idle = SoakTimes.silence
        configuration.limits.highWatermark = 32 << 10
        configuration.limits.lowWatermark = 8 << 10
        return EventSource(url: try self.url(plan, "http", port: port), configuration: configuration)
    }

    // MARK: Servers

    private static func answer(_ peer: ServedPeer, _ seen: SoakRecord) throws {
        guard let seed = peer.parameter("plan").flatMap({ UInt64($0) }) else { return try peer.answer(status: 404) }
        let plan = ClientPlan(seed: seed)
        do {
            if peer.asksForWebSocket {
                try Self.converse(peer, plan, seen)
            } else {
                try Self.sendEvents(peer, plan)
            }
        } catch let wrong as WrongContent {
            seen.violation("the server's end of \(plan): \(wrong)")
        }
    }

    /// Sends and receives messages in turn, as far as there are any.
    private static func converse(_ peer: ServedPeer, _ plan: ClientPlan, _ seen: SoakRecord) throws {
        let socket = try peer.acceptWebSocket(fragmentByteCount: plan.fragmentByteCount)
        var sentCount = 0
        var receivedCount = 0
        while true {
            if sentCount < plan.receivedCount {
                let message = plan.message(sentCount, toServer: false)
                try socket.send(isText: message.kind == .text, payload: message.payload)
                sentCount += 1
            }
            let hasSentAll = sentCount == plan.receivedCount
            if plan.kind == .interrupted, hasSentAll, receivedCount == plan.sentCount {
                seen.count("pings of servers", socket.answeredPingCount)
                try socket.close(code: plan.close.code, reason: plan.close.reason)
            }
            switch try socket.receive(before: hasSentAll ? nil : .now) {
            case nil: break
            case .message(let isText, let payload):
                let expected = plan.message(receivedCount, toServer: true)
                guard receivedCount < plan.sentCount, isText == (expected.kind == .text), payload == expected.payload
                else { throw WrongContent("message \(receivedCount) is another one") }
                receivedCount += 1
                if plan.isServerPausing, receivedCount % 20 == 10 { peer.pause(seconds: 0.7) }
            case .close(let code, let reason):
                seen.count("pings of servers", socket.answeredPingCount)
                // The client has given up, or was cut off.
                if code == 1001, plan.kind == .cancelled || plan.kind == .faulty { return }
                guard hasSentAll, receivedCount == plan.sentCount, code == plan.close.code ?? 1005,
                    reason == plan.close.reason
                else { throw WrongContent("closed with \(code) after \(receivedCount) messages") }
                return seen.count("closes of clients")
            }
        }
    }

    /// Sends some of the events behind the last event ID, and ends in one of several ways, mostly in an event.
    private static func sendEvents(_ peer: ServedPeer, _ plan: ClientPlan) throws {
        let first = peer.value(of: "last-event-id").flatMap { Int($0) } ?? 0
        guard first < plan.receivedCount else { return try peer.answer(status: 204) }
        var random = SoakRandom(seed: plan.seed &+ UInt64(peer.connection))
        let stream = try peer.beginEventStream()
        try stream.send("retry: \(plan.retryMilliseconds)\n\n")
        let end = random.number(in: first + 1...plan.receivedCount)
        for index in first..<end {
            try stream.send(Self.text(of: plan.event(index)))
            if random.chance(10) { try stream.send(": still here\n") }
            if random.chance(2) { peer.pause(seconds: 0.1) }
        }
        if end < plan.receivedCount, random.chance(70) {
            try stream.send(String(Self.text(of: plan.event(end)).dropLast(random.number(in: 1...10))))
        }
        if random.chance(40) { return try stream.end() }
        // A reset may discard bytes that the client has not read; some arrive before it, so that it makes progress.
        let cut: ChappieTestServer.Fault.ConnectionCut = random.chance(50) ? .reset : .end
        if cut == .reset { peer.pause(seconds: 0.05) }
        try peer.cut(cut)
    }

    /// Returns an event as a server writes it.
    private static func text(of event: ServerSentEvent) -> String {
        let lines = event.data.split(separator: "\n", omittingEmptySubsequences: false)
        return "id: \(event.lastEventID)\n" + (event.type == "message" ? "" : "event: \(event.type)\n")
            + lines.map { "data: \($0)\n" }.joined() + "\n"
    }
}
