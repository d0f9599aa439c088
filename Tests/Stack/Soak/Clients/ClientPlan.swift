// The plan of one stream of a client, and the content that is sent on it. Both ends make them from the seed.
import EventSource
import WebSocketClient

/// The plan of one connection of `WebSocketClient`, or of one sequence of `EventSource` with its connections.
struct ClientPlan: Sendable, CustomStringConvertible {
    /// The end of the stream, the reading of its consumer, and the fate of its connections.
    enum Kind: CaseIterable, Sendable {
        /// Both sides send and read whatever comes; then the client closes a WebSocket.
        case steady
        /// The server closes a WebSocket; the consumer of an event source has it reconnect in the middle.
        case interrupted
        /// The consumer stops reading now and then, often for longer than a dead peer is waited for.
        case pausing
        /// Is given up in the middle, one way or another.
        case cancelled
        /// Goes through a proxy that breaks the first connections.
        case faulty
    }

    /// The way in which a consumer gives a stream up.
    enum Surrender: CaseIterable, Sendable {
        /// By `cancel()` of a WebSocket, or `close()` of an event source.
        case call
        /// Its task is cancelled.
        case task
        /// It drops the last reference.
        case drop
    }

    let seed: UInt64
    let kind: Kind
    let isWebSocket: Bool
    let isSecure: Bool
    let isCompressed: Bool
    /// Indicates whether the consumer of a WebSocket borrows its messages.
    let isLent: Bool
    /// The number of messages or events from the server.
    let receivedCount: Int
    /// The number of messages to the server.
    let sentCount: Int
    /// The number of the client's pings.
    let pingCount: Int
    /// Indicates whether the server of a WebSocket stops reading now and then.
    let isServerPausing: Bool
    /// The code and the reason of the Close frame.
    let close: (code: Int?, reason: String)
    /// The size of the fragments in which the server sends messages; nil for whole ones.
    let fragmentByteCount: Int?
    /// The reconnection time that an event stream sets, in milliseconds.
    let retryMilliseconds: Int
    /// The numbers of messages or events behind which the consumer stops for a while, or gives up.
    let stops: [Int]
    let surrender: Surrender

    init(seed: UInt64) {
        var random = SoakRandom(seed: seed)
        self.seed = seed
        self.isWebSocket = random.chance(60)
        self.isSecure = random.chance(50)
        self.isCompressed = random.chance(50)
        self.isLent = random.chance(50)
        let kind = Kind.allCases[random.number(in: 0...Kind.allCases.count - 1)]
        self.kind = kind
        self.receivedCount = random.number(in: 1...40)
        self.sentCount = random.number(in: 0...40)
        self.pingCount = random.number(in: 0...3)
        self.isServerPausing = random.chance(15)
        // 1001 is for a client that gives up; the server closes with codes that are errors as well.
        let codes: [Int?] =
            kind == .interrupted ? [nil, 1000, 1001, 1011, 4000] : [nil, 1000, 1003, 3000, 4999]
        let code = codes[random.number(in: 0...codes.count - 1)]
        self.close = (code, code == nil || random.chance(50) ? "" : "end \(seed): café, 水")
        self.fragmentByteCount = random.chance(30) ? random.number(in: 500...20_000) : nil
        self.retryMilliseconds = random.number(in: 1...30)
        var stops: [Int] = []
        switch kind {
        case .steady, .faulty: break
        case .interrupted, .cancelled: stops = [random.number(in: 0...self.receivedCount - 1)]
        case .pausing:
            for _ in 0..<random.number(in: 1...3) { stops.append(random.number(in: 0...self.receivedCount - 1)) }
        }
        self.stops = stops
        self.surrender = Surrender.allCases[random.number(in: 0...Surrender.allCases.count - 1)]
    }

    // MARK: Contents

    /// Returns a message of one direction.
    func message(_ index: Int, toServer: Bool) -> WebSocketMessage {
        var random = self.random(index, stream: toServer ? 1 : 2)
        let byteCount = Self.byteCount(&random)
        // Some bytes that do not compress.
        if random.chance(25) {
            let words = (0..<byteCount / 8 + 1).map { _ in random.next() }
            return .binary(words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
        }
        let text = Self.text(index, &random, byteCount)
        return random.chance(60) ? .text(text) : .binary(Array(text.utf8))
    }

    /// Returns an event; its ID is the number of events up to it.
    func event(_ index: Int) -> ServerSentEvent {
        var random = self.random(index, stream: 3)
        let type = ["message", "update", "response.output_text.delta"][random.number(in: 0...2)]
        // An event without data is none.
        let text = Self.text(index, &random, max(1, Self.byteCount(&random)))
        return ServerSentEvent(type: type, data: text, lastEventID: String(index + 1))
    }

    private func random(_ index: Int, stream: UInt64) -> SoakRandom {
        var random = SoakRandom(seed: self.seed &+ stream)
        return SoakRandom(seed: random.next() &+ UInt64(index))
    }

    /// Mostly small, sometimes of several frames and reads, sometimes empty.
    private static func byteCount(_ random: inout SoakRandom) -> Int {
        if random.chance(4) { return 0 }
        if random.chance(70) { return random.number(in: 1...2_000) }
        return random.number(in: random.chance(80) ? 2_000...30_000 : 30_000...100_000)
    }

    private static func text(_ index: Int, _ random: inout SoakRandom, _ byteCount: Int) -> String {
        guard byteCount > 0 else { return "" }
        let text = SoakResponse(seed: random.next(), byteCount: byteCount, deltaCount: 1).text
        return "\(index):" + String(decoding: text, as: UTF8.self)
    }

    var description: String {
        let counts = "\(self.receivedCount) \(self.isWebSocket ? "messages, \(self.sentCount) sent" : "events")"
        return "seed \(self.seed): \(self.kind), \(self.isWebSocket ? "WebSocket" : "event source")"
            + (self.isSecure ? ", TLS" : "") + (self.isCompressed ? ", compressed" : "")
            + (self.isLent ? ", lent" : "") + (self.kind == .cancelled ? ", by \(self.surrender)" : "") + ", \(counts)"
    }
}

extension WebSocketMessage {
    /// The bytes of the message on the wire, uncompressed.
    var payload: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .binary(let bytes): bytes
        }
    }
}

/// The content of a stream, or its end, is not what was sent.
struct WrongContent: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
