// All errors and their facts: one table, and a test that fails when an error has no row.
import Foundation
import StreamSession
import Testing
import TransportSurface

@testable import ChappieTransport

/// The cases of `ChappieClientError`, so that the compiler and a test require a row of each.
private enum CaseName: CaseIterable {
    case missingCredential, missingRefreshToken, missingAccountID, reauthenticationRequired, usageLimitReached
    case missingToolHandler, toolApprovalDenied, toolExecutionFailed, toolLoopLimitExceeded, responseTerminalFailure
    case streamingTransportReplayDiverged, httpError, invalidResponse, alreadyRunning, runTimeLimitExceeded
    case requestRefused, alreadyRead, transport

    init(_ error: ChappieClientError) {
        switch error {
        case .missingCredential: self = .missingCredential
        case .missingRefreshToken: self = .missingRefreshToken
        case .missingAccountID: self = .missingAccountID
        case .reauthenticationRequired: self = .reauthenticationRequired
        case .usageLimitReached: self = .usageLimitReached
        case .missingToolHandler: self = .missingToolHandler
        case .toolApprovalDenied: self = .toolApprovalDenied
        case .toolExecutionFailed: self = .toolExecutionFailed
        case .toolLoopLimitExceeded: self = .toolLoopLimitExceeded
        case .responseTerminalFailure: self = .responseTerminalFailure
        case .streamingTransportReplayDiverged: self = .streamingTransportReplayDiverged
        case .httpError: self = .httpError
        case .invalidResponse: self = .invalidResponse
        case .alreadyRunning: self = .alreadyRunning
        case .alreadyRead: self = .alreadyRead
        case .runTimeLimitExceeded: self = .runTimeLimitExceeded
        case .requestRefused: self = .requestRefused
        case .transport: self = .transport
        }
    }
}

/// The required action of the user, and whether the error should be reported.
private enum Duty {
    case none, user, report, both

    var requiresUserAction: Bool { self == .user || self == .both }
    var shouldReport: Bool { self == .report || self == .both }
}

/// One error, and all of its facts.
private struct Row: Sendable, CustomTestStringConvertible {
    let error: ChappieClientError
    let tag: String
    let category: ChappieErrorCategory
    /// Seconds, `refresh` or nil.
    let guidance: ChappieRetryGuidance
    let duty: Duty
    let problem: String
    let advice: String
    var unsafeMessage: String?

    var testDescription: String { self.tag }

    init(
        _ error: ChappieClientError, _ tag: String, _ category: ChappieErrorCategory,
        _ guidance: ChappieRetryGuidance, _ duty: Duty, _ problem: String, _ advice: String, unsafe: String? = nil
    ) {
        self.error = error
        self.tag = tag
        self.category = category
        self.guidance = guidance
        self.duty = duty
        self.problem = problem
        self.advice = advice
        self.unsafeMessage = unsafe
    }

    /// A failure below HTTP, by its code.
    init(
        _ code: FailureCode, _ tag: String, _ category: ChappieErrorCategory,
        _ guidance: ChappieRetryGuidance, _ duty: Duty, _ problem: String, _ advice: String,
        _ set: (inout ChappieTransportFailure.Details) -> Void = { _ in }
    ) {
        var details = ChappieTransportFailure.Details()
        set(&details)
        self.init(
            .transport(
                ChappieTransportFailure(
                    code: .init(code), phase: .stream, transport: .webSocket,
                    progress: (attempts: 2, replaySafety: .sentNoOutput), details: details)),
            tag, category, guidance, duty, "\(problem) (while reading the response, WebSocket, 2 attempts).", advice,
            unsafe: details.serverMessage ?? details.closeReason ?? details.issuer)
    }
}

private let secret = "SECRET-words"
private let later = ChappieRetryGuidance.retryWithBackoff(afterSeconds: 5)
private let soon = ChappieRetryGuidance.retryWithBackoff(afterSeconds: 1)
private let again = "Try again in a moment."
private let withoutCompression =
    "Turn compression off (offersCompression, --no-compression), or ask the operator of the server or the proxy."
private let whole = "Raise the limit, or ask for less at a time."

private func response(_ code: String?, status: String = "failed", reason: String? = nil) -> ChappieClientError {
    .responseTerminalFailure(
        ChappieResponse(
            id: "resp_1", status: status, errorCode: code, errorMessage: reason == nil ? secret : nil,
            incompleteReason: reason))
}

private let limit = ChappieUsageLimit(
    type: "usage_limit_reached", message: secret, plan: .init(rawValue: "plus", displayName: "Plus"),
    resetsAt: .init(timeIntervalSince1970: 1_795_256_523), primary: nil, secondary: nil)

private let caseRows: [Row] = [
    Row(
        .missingCredential, "auth.missing-credential", .auth, .none, .user, "There is no credential.",
        "Set the environment variable of the key, such as OPENAI_API_KEY, pass a credential, or sign in."),
    Row(
        .missingRefreshToken, "auth.missing-refresh-token", .auth, .none, .user,
        "The credential has expired and there is no refresh token.", "Sign in again."),
    Row(
        .missingAccountID, "auth.missing-account-id", .auth, .none, .user, "The credential names no account.",
        "Sign in again."),
    Row(
        .reauthenticationRequired(secret), "auth.reauthentication-required", .auth, .none, .user,
        "The server does not accept the credential.", "Check the API key, or sign in again.", unsafe: secret),
    Row(
        .usageLimitReached(limit), "usage-limit", .rateLimit, .none, .user,
        "The usage limit of the plan Plus is reached.",
        "Wait until 2026-11-21T10:22:03Z, when the limit is reset, or choose another plan.", unsafe: secret),
    Row(
        .missingToolHandler(secret), "tool.missing-handler", .validation, .none, .report,
        "The model called a tool that is not registered.", "Register the tool, or do not offer it to the model."),
    Row(
        .toolApprovalDenied(secret, secret), "tool.approval-denied", .permission, .none, .user,
        "A tool call was denied.", "Approve the call, or do not offer the tool to the model.", unsafe: secret),
    Row(
        .toolExecutionFailed(secret, secret), "tool.execution-failed", .internal, .none, .report, "A tool failed.",
        "See the tool's own message.", unsafe: secret),
    Row(
        .toolLoopLimitExceeded(64), "tool.loop-limit", .validation, .none, .report,
        "The model called tools, or asked to go on, more often than the limit of 64 allows.", whole),
    Row(
        response("server_error"), "response.failed", .server, later, .none, "The response failed at the server.", again,
        unsafe: secret),
    Row(
        response(nil, status: "incomplete", reason: "max_output_tokens"), "response.incomplete", .validation, .none,
        .user, "The response ended before it was complete.", "Allow more output tokens, or change the request.",
        unsafe: "max_output_tokens"),
    Row(
        response(nil, status: "incomplete", reason: "refusal"), "response.incomplete", .validation, .none, .user,
        "The response ended before it was complete.", "Change the request: a filter of the server ended the answer.",
        unsafe: "refusal"),
    Row(
        response(nil, status: "incomplete", reason: "pause_turn"), "response.incomplete", .validation, .none, .user,
        "The response ended before it was complete.", "Send the request again, or change it.", unsafe: "pause_turn"),
    Row(
        response(nil, status: "incomplete", reason: "cut_arguments"), "response.incomplete", .validation, .none, .user,
        "The response ended within the arguments of a call.", "Allow more output tokens, or change the request.",
        unsafe: "cut_arguments"),
    Row(
        response(nil, status: "incomplete", reason: "unnamed_call"), "response.incomplete", .validation, .none, .user,
        "The response has a call without its name or identifier.", "Send the request again, or change it.",
        unsafe: "unnamed_call"),
    Row(
        response(nil, status: "incomplete", reason: "missing_call"), "response.incomplete", .validation, .none, .user,
        "The response ended for a call, and none was sent.", "Send the request again, or change it.",
        unsafe: "missing_call"),
    Row(
        response(nil, status: "cancelled"), "response.cancelled", .server, .none, .none,
        "The response was cancelled at the server.", "If the cancellation was not meant, send the request again.",
        unsafe: secret),
    Row(
        .streamingTransportReplayDiverged(secret), "replay.diverged", .server, .none, .none,
        "The server's answer contradicts output that was delivered before.",
        "The delivered text is an unfinished answer; discard it before you ask again."),
    Row(
        .httpError(503, secret), "http.503", .server, later, .none, "The server answered with status code 503.", again,
        unsafe: secret),
    Row(
        .httpError(401, secret), "http.401", .auth, .refreshAuthThenRetry, .none,
        "The server answered with status code 401.", "Check the API key, or sign in again.", unsafe: secret),
    Row(
        .httpError(429, secret), "http.429", .rateLimit, .retryWithBackoff(afterSeconds: 30), .none,
        "The server answered with status code 429.", "Wait a little, and send fewer requests.", unsafe: secret),
    Row(
        .invalidResponse, "response.invalid", .server, .none, .report, "The server's answer makes no sense.",
        "Check the address; if it is right, report this to the server's operator."),
    Row(
        .alreadyRunning, "turn.already-running", .validation, .none, .report,
        "The conversation has a turn that is not over.",
        "Read that turn to its end or cancel it, or use another client."),
    Row(
        .alreadyRead, "stream.already-read", .validation, .none, .report, "The stream is read by two consumers.",
        "Read a stream in one task, and pass its events on from there."),
    Row(
        .runTimeLimitExceeded(.seconds(90)), "turn.time-limit", .validation, .none, .user,
        "The turn took longer than the limit of 90.0 s allows.", whole),
    Row(
        .requestRefused(secret), "request.refused", .permission, .none, .user,
        "The program refused to send the request.", "See the reason, and change the request or the rule.",
        unsafe: secret),
]

private let codeRows: [Row] = [
    Row(
        .invalidRequest, "request.invalid", .validation, .none, .both,
        "The request cannot be sent as it is: the body is not a JSON object",
        "Correct the address, the fields or the body of the request."
    ) { $0.detail = "the body is not a JSON object" },
    Row(
        .unresolvable, "resolve.failed", .network, soon, .none, "The server's name has no address",
        "Check the address, the network and the firewall."),
    Row(
        .unreachable, "connect.failed", .network, soon, .none, "The server cannot be reached",
        "Check the address, the network and the firewall."),
    Row(
        .timedOut, "timeout.stream", .network, soon, .none, "Time ran out", "Check the network, or allow more time."),
    Row(
        .certificateRejected, "tls.certificate", .network, .none, .user,
        "The server's certificate is not trusted: it is for another host", "Check the address."
    ) {
        $0.detail = "wrong-host"
        $0.issuer = secret
    },
    Row(
        .keyNotPinned, "tls.pin", .network, .none, .user, "The server's key is not one of those that are pinned",
        "Check the address and the network, and pin the new key if the server has changed it."),
    Row(.tlsHandshakeFailed, "tls.handshake", .network, soon, .none, "The TLS handshake failed", again),
    Row(
        .trustAnchorsUnreadable, "tls.trust-anchors", .validation, .none, .user,
        "The file of trusted certificates cannot be read", "Check the file's name and format (PEM)."),
    Row(
        .clientCertificateUnreadable, "tls.client-certificate", .validation, .none, .user,
        "The client's certificate or its key cannot be read",
        "Check the files' names and format (PEM), and that the key is the certificate's."),
    Row(
        .proxyInvalid, "proxy.invalid", .validation, .none, .user, "The proxy cannot be used: no host",
        "Correct the proxy's URL."
    ) { $0.detail = "no host" },
    Row(
        .proxyRefused, "proxy.refused", .network, soon, .none, "The proxy refused the connection with status code 403",
        "Ask the proxy's operator to allow the server, or name it in NO_PROXY."
    ) { $0.statusCode = 403 },
    Row(
        .notSOCKS, "proxy.not-socks", .server, .none, .user, "The proxy does not speak SOCKS 5",
        "Check the proxy's URL and the network."),
    Row(
        .notHTTP, "http.not-http", .server, .none, .user, "What answered does not speak HTTP",
        "Check the address; a proxy or a sign-in page may stand in between."),
    Row(
        .headerSectionTooLarge, "http.header-section-too-large", .server, .none, .report,
        "The answer's header section is larger than the limit of 32768 bytes",
        "Ask the operator of the server or the proxy: this limit is fixed."
    ) { $0.limit = 32_768 },
    Row(
        .openingHandshakeInvalid, "ws.opening-handshake", .server, later, .report,
        "The WebSocket was refused or answered wrongly",
        "Use HTTP, or ask the operator of the server or the proxy to allow WebSockets."),
    Row(
        .protocolViolation, "ws.protocol-violation", .server, later, .report,
        "The server broke the rules of WebSockets", again),
    Row(.binaryMessage, "ws.binary-message", .server, later, .report, "The server sent a binary message", again),
    Row(
        .webSocketClosed, "ws.close.1011", .server, later, .none, "The server closed the WebSocket with code 1011",
        again
    ) {
        $0.closeCode = 1011
        $0.closeReason = secret
    },
    Row(.peerUnresponsive, "ws.ping-timeout", .network, soon, .none, "The server stopped answering", again),
    Row(
        .unexpectedContentType, "http.content-type", .server, .none, .user, "The answer is not an event stream",
        "Check the address; a proxy or a sign-in page may stand in between."),
    Row(
        .unsupportedContentCoding, "http.content-coding", .server, .none, .report,
        "The answer is compressed in a way that was not asked for, more than once, or without saying so",
        withoutCompression),
    Row(
        .corruptContentCoding, "http.corrupt-content-coding", .server, later, .report,
        "The compressed answer is damaged or cut off", again),
    Row(
        .malformedBody, "http.malformed-body", .server, later, .report, "A chunk of the server's answer cannot be read",
        "Ask the operator of the server or the proxy: its answers break the rules of HTTP/1.1."),
    Row(
        .undecodableEvent, "event.undecodable", .server, later, .report, "The server sent an event that cannot be read",
        again),
    Row(
        .eventTooLarge, "event.too-large", .server, .none, .report,
        "The server sent an event, or the items of a response, larger than the limit of 64 bytes",
        "Raise the limit if the server is right."
    ) { $0.limit = 64 },
    Row(
        .outputTooLarge, "output.too-large", .server, .none, .report,
        "The answer has more output than the limit of 64 bytes", "Raise the limit if the server is right."
    ) { $0.limit = 64 },
    Row(
        .endedEarly, "stream.ended-early", .network, soon, .none, "The answer ended before it was complete", again),
    Row(.connectionLost, "connection.lost", .network, soon, .none, "The connection broke", again),
    Row(
        .requestTooLarge, "request.too-large", .validation, .none, .user,
        "The request is larger than a WebSocket message may be (16700000 bytes)",
        "Allow HTTP, or send a smaller request."
    ) { $0.limit = 16_700_000 },
    Row(
        .unsupportedTransferCoding, "http.transfer-coding", .server, .none, .report,
        "The answer has a transfer coding other than a single chunked",
        "Turn compression off (offersCompression, --no-compression), or ask the operator of the server or the proxy."),
    Row(
        .contradictoryEvents, "event.contradictory", .server, later, .report,
        "The server sent events that cannot belong to one response", again),
    Row(
        .toolOutputAwaited, "event.tool-output-awaited", .validation, .none, .user,
        "The server waits for the output of a tool in the middle of its response",
        "Turn multi_agent off: here outputs go back when a response is complete."),
    Row(.sequenceGap, "event.sequence-gap", .network, soon, .none, "Events of the response are missing", again),
    Row(
        .otherAPI, "event.other-api", .validation, .none, .user,
        "This endpoint speaks OpenAI's Chat Completions API and not the API that was asked for",
        "Set the dialect that it speaks (--dialect chat), or put a gateway that translates in front of it."
    ) { $0.detail = "chat-completions" },
    Row(
        .responseExpired, "resume.expired", .validation, .none, .user,
        "The server has the response no more, or streams it no more",
        "Ask for the response itself, or send the request again."),
    Row(
        .circuitOpen, "circuit.open", .network, .retryWithBackoff(afterSeconds: 41.5), .none,
        "The request was not tried, because those before it failed", "Try again in 42 s."
    ) { $0.retryAfter = .milliseconds(41_500) },
    Row(
        .shutDown, "engine.shut-down", .validation, .none, .none,
        "The engine was shut down before the turn was complete",
        "Send the request again with another engine, or let shutdown() wait for longer."),
    Row(
        .descriptorsExhausted, "descriptors.exhausted", .internal, later, .none,
        "The process has no file descriptor left of 1024 (ulimit -n)",
        "Raise the limit (ulimit -n), or open fewer connections at once."
    ) { $0.limit = 1_024 },
    Row(
        .unavailable, "unavailable", .internal, later, .report, "The system has no resources left for a connection",
        "Close other connections or programs, and try again."),
]

@Suite struct ErrorTableTests {
    @Test func everyCaseHasARow() {
        #expect(Set((caseRows + codeRows).map { CaseName($0.error) }) == Set(CaseName.allCases))
    }

    @Test func everyCodeHasARow() {
        let codes = codeRows.compactMap { row -> FailureCode? in
            guard case .transport(let failure) = row.error else { return nil }
            return failure.code.kind
        }
        #expect(codes.count == Set(codes).count)
        #expect(Set(codes) == Set(FailureCode.allCases))
    }

    /// The article "Errors" has a row for every tag, and for every outcome that is in reports only.
    @Test func everyTagStandsInTheDocumentation() throws {
        let root = URL(filePath: #filePath).appending(path: "../../../../..").standardizedFileURL
        let page = root.appending(path: "Sources/Engine/ChappieTransport/ChappieTransport.docc/Errors.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        let documented = lines.compactMap { $0.split(separator: "|").first }.reduce(into: [String]()) { tags, cell in
            tags += cell.split(separator: ",").map { $0.filter { $0 != "`" && $0 != " " } }
        }
        #expect(Set(documented).count == documented.count)
        let phases = ChappieTransportFailure.Phase.allCases.map { "timeout.\($0)" }
        let statuses = [400, 401, 403, 404, 408, 413, 429].map { "http.\($0)" } + ["http.2NN", "http.5NN", "http.N"]
        let others = ["ws.close.N", "ws.close", "cancelled", "upgrade.slow", "response.error", "replaced", "completed"]
        let budgets = AttemptFailure.TimeBudget.allCases.map { "timeout.\($0.rawValue)" }
        let fixed = (caseRows + codeRows).map(\.tag).filter { !$0.hasPrefix("http.5") && !$0.hasPrefix("ws.close") }
        let expected = Set(fixed + phases + statuses + others + budgets + ["lost-race", "kept", "parked"])
        #expect(expected.subtracting(documented).isEmpty)
        #expect(Set(documented).subtracting(expected).isEmpty)
    }

    /// On every error, category, retryability, guidance, user action, tag, and whether to report it.
    @Test(arguments: caseRows + codeRows) fileprivate func categoryRetryabilityAndTagMatchTheTable(of row: Row) {
        #expect(row.error.tag == row.tag)
        #expect(row.error.category == row.category)
        #expect(row.error.retryGuidance == row.guidance)
        #expect(row.error.isRetryable == (row.guidance != .none))
        #expect(row.error.requiresUserAction == row.duty.requiresUserAction)
        #expect(row.error.shouldReport == row.duty.shouldReport)
    }

    /// `localizedDescription` is a sentence that is safe to log; the server's message is separate.
    @Test(arguments: caseRows + codeRows) fileprivate func descriptionsMatchTheTable(of row: Row) {
        #expect(row.error.failureReason == row.problem)
        #expect(row.error.recoverySuggestion == row.advice)
        #expect(row.error.isRetryable || !row.advice.lowercased().contains("try again"))
        #expect(row.error.safeDescription == "\(row.problem) \(row.advice)")
        #expect(row.error.localizedDescription == row.error.safeDescription)
        #expect(row.error.unsafeMessage == row.unsafeMessage)
    }

    @Test(arguments: caseRows + codeRows) fileprivate func printedErrorsContainNoForeignText(of row: Row) {
        var dumped = ""
        dump(row.error, to: &dumped)
        for text in ["\(row.error)", String(reflecting: row.error), row.error.localizedDescription, dumped] {
            #expect(!text.contains(secret))
            #expect(text == row.error.localizedDescription || text.contains(row.tag))
        }
        guard case .transport(let failure) = row.error else { return }
        var dumpedFailure = ""
        dump(failure, to: &dumpedFailure)
        for text in ["\(failure)", String(reflecting: failure), failure.localizedDescription, dumpedFailure] {
            #expect(!text.contains(secret))
        }
    }
}
