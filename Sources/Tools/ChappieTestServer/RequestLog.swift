// The log of attempts, and the callers that wait for its milestones.
//
// Shared by all connection threads and the server's user; one lock guards it.

/// Records attempts and wakes waiting callers.
final class RequestLog: Sendable {
    /// Counts over the server's life.
    struct Totals: Sendable {
        var connections = 0
        var attempts = 0
        var bodies = 0
        var pings = 0
        var pongs = 0
        var closes = 0
        var completedResponses = 0
        var finishedAttempts = 0
        var signInRequests: [ChappieTestServer.SignIn.Endpoint: Int] = [:]
    }

    /// The unanswered payloads of an attempt's pings.
    typealias OpenPings = [[UInt8]]

    struct State: MilestoneCounting {
        var records: [Int: ChappieTestServer.RequestRecord] = [:]
        var openPings: [Int: OpenPings] = [:]
        /// The records by the number of the request to any sign-in endpoint, from 1.
        var signInRecords: [Int: ChappieTestServer.SignInRecord] = [:]
        var totals = Totals()

        func reaches(_ milestone: ChappieTestServer.Milestone) -> Bool { milestone.isReached(self.totals) }
    }

    /// The counts, and the callers that wait for them.
    let milestones = MilestoneMonitor(State())
    private let maximumRecordCount: Int
    private let logLine: (@Sendable (String) -> Void)?

    /// Creates a log that keeps a number of records and reports events to `logLine`.
    init(maximumRecordCount: Int, logLine: (@Sendable (String) -> Void)?) {
        self.maximumRecordCount = max(1, maximumRecordCount)
        self.logLine = logLine
    }

    /// The kept records, by attempt.
    var records: [ChappieTestServer.RequestRecord] {
        self.milestones.withLock { state in state.records.values.sorted { $0.attempt < $1.attempt } }
    }

    /// The kept sign-in records, in the order of their answers.
    var signInRecords: [ChappieTestServer.SignInRecord] {
        self.milestones.withLock { state in state.signInRecords.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Removes the records; the totals are kept.
    func removeRecords() {
        self.milestones.withLock { state in
            state.records = [:]
            state.signInRecords = [:]
        }
    }

    // MARK: Recording

    /// Counts a new attempt and returns its number.
    func begin(
        _ request: HTTPRequest, transport: ChappieTestServer.Transport, connection: Int, on stream: ByteStream
    ) -> Int {
        let record = ChappieTestServer.RequestRecord(
            attempt: 0,
            connection: connection,
            transport: transport,
            method: request.method,
            path: request.path,
            query: request.query,
            fields: Self.harmless(request.fields),
            serverName: stream.serverName,
            isTLSResumed: stream.isTLSResumed,
            hasAuthorization: request.bearerToken != nil
        )
        let attempt = self.milestones.change { state in
            state.totals.attempts += 1
            let attempt = state.totals.attempts
            state.records[attempt] = record
            state.records[attempt]?.attempt = attempt
            state.records[attempt - self.maximumRecordCount] = nil
            state.openPings[attempt - self.maximumRecordCount] = nil
            return attempt
        }
        self.note(attempt, "attempt", [("transport", .string(transport.rawValue)), ("path", .string(request.path))])
        return attempt
    }

    /// Returns the fields whose values may be logged.
    static func harmless(_ fields: [ChappieTestServer.Field]) -> [ChappieTestServer.Field] {
        fields.filter { !Self.isSecret($0.name.lowercased()) }
    }

    /// Returns whether the values of a field must not be logged.
    private static func isSecret(_ name: String) -> Bool {
        ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"].contains(name)
            || name.contains("token") || name.contains("secret")
    }

    /// Adds a POST's body or a message.
    func addBody(_ bytes: [UInt8], attempt: Int) {
        self.milestones.change { state in
            state.totals.bodies += 1
            state.records[attempt]?.bodies.append(String(decoding: bytes, as: UTF8.self))
            state.records[attempt]?.bodyByteCount += bytes.count
        }
        guard self.logLine != nil else { return }
        var details: [(String, JSONValue)] = [("bytes", .number(String(bytes.count)))]
        let outputs = Self.toolOutputCount(in: bytes)
        if outputs > 0 { details.append(("toolOutputs", .number(String(outputs)))) }
        self.note(attempt, "body", details)
    }

    /// Returns the number of tool outputs in a request.
    private static func toolOutputCount(in bytes: [UInt8]) -> Int {
        let items = JSONValue(bytes)?["input"]?.elements ?? []
        return items.count { $0["type"]?.string?.hasSuffix("_output") == true }
    }

    /// Counts a new connection and returns its number.
    func beginConnection() -> Int {
        self.milestones.change { state in
            state.totals.connections += 1
            return state.totals.connections
        }
    }

    /// The number of accepted connections.
    var connectionCount: Int { self.milestones.withLock { $0.totals.connections } }

    /// Adds a ping of the server.
    func addSentPing(_ payload: [UInt8], attempt: Int) {
        self.milestones.change { state in
            state.records[attempt]?.sentPingCount += 1
            // A pong removes a ping only while the attempt has a record; without one the entry would stay.
            if state.records[attempt] != nil { state.openPings[attempt, default: []].append(payload) }
        }
    }

    /// Adds a control frame.
    func addControlFrame(_ frame: WebSocketFrame, attempt: Int) {
        let code = frame.opcode == .close ? frame.closeCode : nil
        self.milestones.change { state in
            switch frame.opcode {
            case .ping:
                state.totals.pings += 1
                state.records[attempt]?.pingCount += 1
            case .pong:
                state.totals.pongs += 1
                state.records[attempt]?.pongCount += 1
                // A pong may answer only the latest ping (RFC 6455 section 5.5.3).
                if let index = state.openPings[attempt]?.firstIndex(of: frame.payload) {
                    state.openPings[attempt]?.removeSubrange(...index)
                    state.records[attempt]?.matchedPongCount += 1
                }
            case .close:
                state.totals.closes += 1
                state.records[attempt]?.closeCode = code
                state.records[attempt]?.closeReason = frame.closeReason
            case .continuation, .text, .binary: break
            }
        }
        let details: [(String, JSONValue)] = code.map { [("code", .number(String($0)))] } ?? []
        self.note(attempt, "\(frame.opcode)", details)
    }

    /// Records the answer's status and the agreed extension.
    func setStatus(_ status: Int, acceptedExtension: String? = nil, attempt: Int) {
        self.milestones.change { state in
            state.records[attempt]?.status = status
            state.records[attempt]?.acceptedExtension = acceptedExtension
        }
        self.note(attempt, "status", [("status", .number(String(status)))])
    }

    /// Counts a response that was sent up to its terminal event.
    func completeResponse(attempt: Int) {
        self.milestones.change { state in
            state.totals.completedResponses += 1
            state.records[attempt]?.completedResponseCount += 1
        }
        self.note(attempt, "completed", [])
    }

    /// Ends an attempt.
    func finish(attempt: Int, sentByteCount: Int) {
        self.milestones.change { state in
            state.totals.finishedAttempts += 1
            state.records[attempt]?.sentByteCount = sentByteCount
            state.records[attempt]?.isFinished = true
        }
        self.note(attempt, "finished", [("sentBytes", .number(String(sentByteCount)))])
    }

    /// Adds a request to a sign-in endpoint, and counts it.
    func addSignIn(_ record: ChappieTestServer.SignInRecord) {
        self.milestones.change { state in
            state.totals.signInRequests[record.endpoint, default: 0] += 1
            let number = state.totals.signInRequests.values.reduce(0, +)
            state.signInRecords[number] = record
            state.signInRecords[number - self.maximumRecordCount] = nil
        }
        var details: [(String, JSONValue)] = [
            ("endpoint", .string(record.endpoint.rawValue)), ("number", .number(String(record.number))),
        ]
        if let status = record.status { details.append(("status", .number(String(status)))) }
        if let code = record.errorCode { details.append(("error", .string(code))) }
        self.note("signIn", details)
    }

    private func note(_ attempt: Int, _ what: String, _ details: [(String, JSONValue)]) {
        self.note(what, [("attempt", .number(String(attempt)))] + details)
    }

    private func note(_ what: String, _ details: [(String, JSONValue)]) {
        guard let logLine = self.logLine else { return }
        let members = [JSONValue.Member(name: "event", value: .string(what))]
        logLine(JSONValue.object(members + details.map { .init(name: $0.0, value: $0.1) }).text)
    }
}

extension HTTPRequest {
    /// The bearer token, or the key in `x-api-key`; nil when there is none, or an empty one.
    var bearerToken: String? {
        if let key = self.value(of: "x-api-key"), !key.isEmpty { return key }
        let value = self.value(of: "authorization") ?? ""
        guard value.lowercased().hasPrefix("bearer ") else { return nil }
        let token = value.dropFirst(7).trimmed
        return token.isEmpty ? nil : token
    }
}
