// Those who read: at the level of the transport, event by event, and by the batch.
import CStreamScript
import ChappieTransport
import Foundation
import LibwebsocketsTransport
import StreamTransport

/// A way to read a response.
struct Consumer {
    /// How it reads.
    enum Kind: CaseIterable {
        /// Takes the arena's buffers, and drops what is in them.
        case arena
        /// `for try await` over `stream(_:)`.
        case events
        /// The same over `batches(_:)`.
        case batches
    }

    let kind: Kind
    let server: StreamServer
    var form = Wire.Form.webSocket
    /// Whether a connection may take as long as it does: a program that is counted is slow.
    var isPatient = false

    /// What the results call a way to read.
    var way: String {
        switch self.kind {
        case .arena: "to the arena"
        case .events: "for try await"
        case .batches: "batches()"
        }
    }

    /// Reads one response and checks it: how much came, and, when it `isThorough`, each byte of it.
    func read(_ expected: ExpectedResponse, isThorough: Bool) async throws {
        if self.kind == .arena { return try await self.readArena(expected, isThorough: isThorough) }
        try await Self.read(from: self.instance(), by: self.kind, expected, isThorough: isThorough)
    }

    /// Reads so many responses of one transport at once, each in a task of its own, and checks each.
    func read(_ count: Int, _ expected: ExpectedResponse, isThorough: Bool) async throws {
        if count == 1 { return try await self.read(expected, isThorough: isThorough) }
        let (instance, kind) = (try self.instance(), self.kind)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { try await Self.read(from: instance, by: kind, expected, isThorough: isThorough) }
            }
            try await group.waitForAll()
        }
    }

    private static func read(
        from instance: ChappieStreamingTransport, by kind: Kind, _ expected: ExpectedResponse, isThorough: Bool
    ) async throws {
        var tally = Tally(isThorough: isThorough)
        if kind == .batches {
            for try await batch in instance.batches(Self.request) {
                for event in batch { tally.take(event) }
            }
        } else {
            for try await event in instance.stream(Self.request) { tally.take(event) }
        }
        try tally.check(against: expected)
    }

    static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    /// A transport that makes connections of its own.
    func instance() throws -> ChappieStreamingTransport {
        var configuration = try ChappieTransportConfiguration.benchmark(self.server, form: self.form)
        if self.isPatient { configuration.timeouts.connect = nil }
        return ChappieStreamingTransport(configuration: configuration)
    }

    // MARK: The transport's level

    private func readArena(_ expected: ExpectedResponse, isThorough: Bool) async throws {
        let tls = TLSPolicy(trust: self.server.certificatePath.map { .file(path: $0) } ?? .system)
        let endpoint = TransportEndpoint(
            isSecure: self.server.certificatePath != nil, host: "127.0.0.1", port: self.server.port, target: "/")
        let connection = LibwebsocketsTransport(tls: tls).connect(
            TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: self.form.isCompressed)))
        defer { connection.cancel() }
        // The first event and the last are messages too.
        let messageCount = expected.messageCount + 2
        var (count, byteCount) = (0, 0)
        while count < messageCount {
            guard let event = connection.next() else {
                _ = await connection.wait(for: nil)
                continue
            }
            switch event {
            case .opened: connection.send(Array("{}".utf8), as: .text)
            case .payload(let payload):
                if isThorough, count > 0, count <= expected.messageCount, !Self.isMessage(count - 1, payload.bytes) {
                    throw WrongResultError("message \(count) is not what the server has sent")
                }
                count += 1
                byteCount += payload.bytes.count
            case .ended(let end): throw WrongResultError("the connection ended: \(end)")
            case .ready, .pong: break
            }
        }
        let edges = strlen(css_created()) + strlen(css_completed())
        guard byteCount == expected.messageCount * Int(CSS_MESSAGE_SIZE) + Int(edges) else {
            throw WrongResultError("\(byteCount) bytes came")
        }
    }

    private static func isMessage(_ number: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(CSS_MESSAGE_SIZE)) { message in
            guard let start = message.baseAddress else { return false }
            css_message(UInt64(number), start)
            return bytes.elementsEqual(UnsafeRawBufferPointer(UnsafeBufferPointer(message)))
        }
    }
}

/// What a consumer has seen of one response.
struct Tally {
    let isThorough: Bool
    private(set) var deltaCount = 0
    private(set) var textByteCount = 0
    private(set) var isComplete = false
    private var hash: UInt64 = 0

    init(isThorough: Bool) { self.isThorough = isThorough }

    @inline(__always)
    mutating func take(_ event: ChappieStreamEvent) {
        switch event {
        case .textDelta(let text):
            self.deltaCount += 1
            self.textByteCount += text.utf8.count
            if self.isThorough { self.hash(text) }
        case .completed: self.isComplete = true
        case .reasoningDelta, .refusalDelta, .toolCallRequested, .approvalRequested, .toolCallCompleted, .usageLimits,
            .raw,
            .diagnostic:
            break
        }
    }

    private mutating func hash(_ text: String) {
        var text = text
        let hash = self.hash
        self.hash = text.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { css_hash(hash, $0.baseAddress, $0.count) }
        }
    }

    func check(against expected: ExpectedResponse) throws {
        let isRight =
            self.isComplete && self.deltaCount == expected.messageCount
            && self.textByteCount == expected.textByteCount && (!self.isThorough || self.hash == expected.hash())
        guard isRight else { throw WrongResultError("the response is not what the server has sent: \(self)") }
    }
}

extension ChappieTransportConfiguration {
    /// What all measurements use: deltas and nothing else.
    static func benchmark(_ server: StreamServer, form: Wire.Form = .webSocket) throws -> Self {
        let scheme = server.certificatePath == nil ? "http" : "https"
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(server.port)/v1") else { throw URLError(.badURL) }
        var configuration = Self(baseURL: url)
        configuration.policy =
            form.isEventStream ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        configuration.rawEvents = .none
        configuration.offersCompression = form.isCompressed
        configuration.tls.trust = server.certificatePath.map { .file(path: $0) } ?? .system
        return configuration
    }
}
