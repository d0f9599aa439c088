// The consumers: event by event, by the batch, and on the main actor.
import CStreamScript
import ChappieTransport
import Foundation

/// One of the interfaces that read a response.
struct Consumer {
    /// The interface.
    enum Kind: CaseIterable {
        /// `for try await` over `stream(_:)`.
        case events
        /// The same over `batches(_:)`.
        case batches
        /// The same over `events(_:)`.
        case sequence
        /// `withEvents(of:)`, whose closure gets each event.
        case scope
        /// `for try await` over `stream(_:)` on the main actor.
        case eventsOnMainActor
        /// The same over `events(_:)`.
        case sequenceOnMainActor
        /// The same on the service thread: its task prefers the transport's executor.
        case sequenceOnExecutor

        /// Makes an interface of its name on the command line; nil when there is none of that name.
        init?(name: String) {
            let kinds: [String: Self] = [
                "events": .events, "batches": .batches, "sequence": .sequence, "scope": .scope,
                "sequence-main-actor": .sequenceOnMainActor, "sequence-executor": .sequenceOnExecutor,
            ]
            guard let kind = kinds[name] else { return nil }
            self = kind
        }

        /// Indicates whether it runs on the main actor.
        var isOnMainActor: Bool { self == .eventsOnMainActor || self == .sequenceOnMainActor }

        /// Indicates whether it runs on a chosen thread, where one consumer at a time is measured: the main or a
        /// service thread.
        var isOnChosenThread: Bool { self.isOnMainActor || self == .sequenceOnExecutor }
    }

    let kind: Kind
    let server: StreamServer
    var form = Wire.Form.webSocket
    /// Whether no time limit passes and no ping is sent, for a process that is slow under valgrind.
    var isPatient = false

    /// The name of the interface in the results.
    var way: String {
        switch self.kind {
        case .events: "for try await"
        case .batches: "batches()"
        case .sequence: "events()"
        case .scope: "withEvents(of:)"
        case .eventsOnMainActor: "for try await, main actor"
        case .sequenceOnMainActor: "events(), main actor"
        case .sequenceOnExecutor: "events(), executor"
        }
    }

    /// Reads `count` streams of one transport at once, each in a task of its own, and checks each response: its counts,
    /// and, when it `isThorough`, each byte of its text.
    ///
    /// A single stream has `responseCount` responses one after another, so that event numbers do not repeat in one.
    func read(
        _ count: Int, _ expected: ExpectedResponse, responseCount: Int = 1, isThorough: Bool
    ) async throws {
        let (instance, kind) = (try self.instance(), self.kind)
        if count == 1 {
            for _ in 0..<responseCount {
                try await Self.read(from: instance, by: kind, expected, isThorough: isThorough)
            }
            return
        }
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
        let actor: (any Actor)? = kind.isOnMainActor ? MainActor.shared : nil
        let tally = try await Self.on(kind == .sequenceOnExecutor ? instance.executor : nil) {
            try await Self.tally(of: instance, by: kind, isThorough: isThorough, on: actor)
        }
        try tally.check(against: expected)
    }

    /// Runs a reader with a preference for an executor; nil is no preference, which changes of executors do not search.
    static func on<Result: Sendable>(
        _ executor: (any TaskExecutor)?, _ read: @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let executor else { return try await read() }
        return try await withTaskExecutorPreference(executor) { try await read() }
    }

    private static func tally(
        of instance: ChappieStreamingTransport, by kind: Kind, isThorough: Bool, on actor: isolated (any Actor)?
    ) async throws -> Tally {
        var tally = Tally(isThorough: isThorough)
        switch kind {
        case .batches:
            for try await batch in instance.batches(Self.request) {
                for event in batch { tally.take(event) }
            }
        case .sequence, .sequenceOnMainActor, .sequenceOnExecutor:
            for try await event in instance.events(Self.request) { tally.take(event) }
        case .scope:
            try await instance.withEvents(of: Self.request) { tally.take($0) }
        case .events, .eventsOnMainActor:
            for try await event in instance.stream(Self.request) { tally.take(event) }
        }
        return tally
    }

    static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    /// A transport that makes connections of its own.
    func instance() throws -> ChappieStreamingTransport {
        var configuration = try ChappieTransportConfiguration.benchmark(self.server, form: self.form)
        if self.isPatient { configuration.timeouts.outlastTheRun() }
        return ChappieStreamingTransport(configuration: configuration)
    }
}

/// The counts of one response at its consumer.
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
            .raw, .restarted, .diagnostic:
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

extension ChappieTimeouts {
    /// Sets limits that no run reaches.
    ///
    /// An event takes the same path as with the default limits. How often these pass depends on the duration of a run.
    fileprivate mutating func outlastTheRun() {
        self.connect = nil
        let day = Duration.seconds(86_400)
        (self.firstEvent, self.idle, self.progress, self.stall, self.pingInterval) = (day, day, day, day, day)
    }
}

extension ChappieTransportConfiguration {
    /// The configuration of all measurements, which delivers deltas without raw events.
    static func benchmark(_ server: StreamServer, form: Wire.Form = .webSocket) throws -> Self {
        let scheme = server.certificatePath == nil ? "http" : "https"
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(server.port)/v1") else { throw URLError(.badURL) }
        var configuration = Self(baseURL: url)
        configuration.policy =
            form.isEventStream ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        configuration.dialect = form == .chatEventStream ? .chatCompletions : .responses
        configuration.rawEvents = .none
        configuration.offersCompression = form.isCompressed
        configuration.tls.trust = server.certificatePath.map { .file(path: $0) } ?? .system
        return configuration
    }
}
