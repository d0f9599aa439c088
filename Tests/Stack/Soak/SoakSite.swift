// The servers, and the clients that streams share.
import ChappieTestServer
import ChappieTransport
import Foundation
import StreamTransport

/// Everything that streams connect to.
///
/// The servers end with it.
final class SoakSite: SoakStreams {
    private struct Place: Sendable {
        let server: ChappieTestServer
        /// The file with the certificate; nil without TLS.
        let certificatePath: String?
    }

    private struct PlaceKey: Hashable {
        let server: SoakLane.Server
        let isSecure: Bool
    }

    private let places: [PlaceKey: Place]
    private let responses: Responses
    private let instances = LockedValue<[SoakLane: ChappieStreamingTransport]>([:])
    private let folder: URL

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "soak-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        let responses = Responses()
        self.responses = responses
        var places: [PlaceKey: Place] = [:]
        for kind in SoakLane.Server.allCases {
            for isSecure in [false, true] {
                let server = try ChappieTestServer(
                    configuration: Self.configuration(kind, isSecure: isSecure, responses))
                var path: String?
                if let pem = server.caPEM {
                    let file = folder.appending(path: "\(kind).pem")
                    try pem.write(to: file, atomically: true, encoding: .utf8)
                    path = file.path
                }
                places[PlaceKey(server: kind, isSecure: isSecure)] = Place(server: server, certificatePath: path)
            }
        }
        self.places = places
    }

    deinit {
        for place in self.places.values { place.server.stop() }
        try? FileManager.default.removeItem(at: self.folder)
    }

    private static func configuration(
        _ kind: SoakLane.Server, isSecure: Bool, _ responses: Responses
    ) -> ChappieTestServer.Configuration {
        var configuration = ChappieTestServer.Configuration(model: .custom { responses.events(for: $0.bodyText) })
        configuration.tls = isSecure ? .init() : nil
        configuration.messageCompression = .deflate(.init())
        configuration.contentCoding = .gzip
        configuration.maximumRecordCount = 200
        switch kind {
        case .bulk: break
        case .pinging:
            configuration.eventsPerSecond = 25
            configuration.pingInterval = .milliseconds(250)
            configuration.pongTimeout = .seconds(3)
        case .quiet:
            configuration.eventsPerSecond = 1.2
        }
        return configuration
    }

    // MARK: Streams

    static var others: [String] { [] }

    func run(seed: UInt64, _ record: SoakRecord) async {
        await SoakStream(plan: StreamPlan(seed: seed), site: self, record: record).run()
    }

    func warmUp(seed: UInt64, _ record: SoakRecord) async {
        await withTaskGroup(of: Void.self) { group in
            for (index, lane) in SoakLane.all.enumerated() {
                let plan = StreamPlan(lane: lane, kind: .steady, seed: seed &+ UInt64(index))
                group.addTask { await SoakStream(plan: plan, site: self, record: record).run() }
            }
        }
    }

    // MARK: Responses

    /// The servers' answers to each prompt, made once.
    private final class Responses: Sendable {
        private let events = LockedValue<[Int: [String]]>([:])

        func add(_ events: [String], for number: Int) { self.events.withLock { $0[number] = events } }

        func remove(_ number: Int) { _ = self.events.withLock { $0.removeValue(forKey: number) } }

        func events(for body: String) -> [String] {
            guard let start = body.range(of: "stream number ")?.upperBound,
                let number = Int(body[start...].prefix { $0.isNumber })
            else { return [] }
            return self.events.withLock { $0[number] ?? [] }
        }
    }

    /// Has the servers answer with a response; the prompt that asks for it.
    func serve(_ response: SoakResponse, number: Int) -> String {
        self.responses.add(response.events, for: number)
        return "stream number \(number)."
    }

    /// Forgets a response.
    func withdraw(_ number: Int) { self.responses.remove(number) }

    // MARK: Clients

    private func place(of lane: SoakLane) -> Place {
        guard let place = self.places[PlaceKey(server: lane.server, isSecure: lane.isSecure)] else {
            preconditionFailure("a lane without a server")
        }
        return place
    }

    /// The port that a lane's server listens on.
    func port(of lane: SoakLane) -> Int { self.place(of: lane).server.port }

    /// The client that all streams of a lane share, so that they share its kept connection too.
    func instance(for lane: SoakLane) throws -> ChappieStreamingTransport {
        if let known = self.instances.withLock({ $0[lane] }) { return known }
        let made = try self.makeInstance(for: lane, port: self.port(of: lane))
        return self.instances.withLock { instances in
            let instance = instances[lane] ?? made
            instances[lane] = instance
            return instance
        }
    }

    /// A client of its own, for a port in front of the lane's server.
    func makeInstance(for lane: SoakLane, port: Int) throws -> ChappieStreamingTransport {
        let place = self.place(of: lane)
        let scheme = lane.isSecure ? "https" : "http"
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(port)/v1") else { throw URLError(.badURL) }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        configuration.policy = lane.isWebSocket ? .default : .httpSSEOnly
        configuration.offersCompression = lane.isCompressed
        configuration.reconnectDelay = .milliseconds(5)
        configuration.circuitBreaker = .disabled
        configuration.tls.trust = place.certificatePath.map { .file(path: $0) } ?? .system
        // A dead peer is found in so much time; a consumer that pauses for longer must not look like one.
        configuration.timeouts.pingInterval = SoakTimes.pingInterval
        configuration.timeouts.pongTimeout = SoakTimes.pongTimeout
        // Without pings, as over HTTP, these times find it.
        configuration.timeouts.firstEvent = SoakTimes.silence
        configuration.timeouts.idle = SoakTimes.silence
        // So little is read ahead that reading stops and starts many times in a stream.
        configuration.limits.highWatermark = 32 << 10
        configuration.limits.lowWatermark = 8 << 10
        return ChappieStreamingTransport(configuration: configuration)
    }

    // MARK: What the servers saw

    /// The violations by the pings in both directions.
    var violations: [String] {
        var violations: [String] = []
        var clientPings = 0
        var serverPings = 0
        for (key, place) in self.places where key.server != .bulk {
            for record in place.server.log where record.transport == .webSocket {
                clientPings += record.pingCount
                serverPings += record.matchedPongCount
                // The ping that was sent with the end of the response is answered after the count ended.
                if record.sentPingCount > record.matchedPongCount + 1 {
                    violations.append(
                        "\(record.sentPingCount) pings were sent and \(record.matchedPongCount) answered")
                }
            }
        }
        if clientPings == 0 { violations.append("no client has sent a ping") }
        if serverPings == 0 { violations.append("no client has answered a ping") }
        return violations
    }
}

/// The times that matter to liveness.
enum SoakTimes {
    static let pingInterval = Duration.milliseconds(500)
    static let pongTimeout = Duration.milliseconds(2_000)
    /// The pings of a server whose streams are short.
    static let serverPingInterval = Duration.milliseconds(100)
    /// Longer than both together.
    static let longPause = Duration.milliseconds(2_900)
    /// The time limits `firstEvent` and `idle`; three silent attempts, the most in a plan, take less than `stuck`.
    static let silence = Duration.seconds(12)
    /// A stream without an event for so long, whose consumer waits for one, is stuck.
    static let stuck = Duration.seconds(40)
}
