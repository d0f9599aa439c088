// Descriptions of failures below HTTP: sentences that are fit to show, of fixed text, numbers, and the server's name in
// the address that the program gave.
import LibwebsocketsTransport
import StreamSession
import StreamTransport

extension ChappieTransportFailure {
    /// The problem and its place.
    package var problem: String {
        // Without an attempt there is no place either: the request was not acceptable.
        guard self.attempts > 0 else { return "\(self.event)." }
        let attempts = self.attempts == 1 ? "1 attempt" : "\(self.attempts) attempts"
        let place = self.phase.words(about: self.details.scheme?.server)
        return "\(self.event) (\(place), \(self.transport.words), \(attempts)).\(self.pathWords)"
    }

    /// The problem in the code's row, or that of a more specific cause.
    private var event: String { self.specificProblem ?? self.sentences.problem.filled(by: self.words) }

    /// The advice about the problem.
    package var advice: String { self.advice(naming: LibraryVersions.ofConnections) }

    /// Returns the advice about the problem, which names these libraries where one may be the cause.
    package func advice(naming libraries: [(name: String, version: String)]) -> String {
        if self.code == .unavailable, let fault = self.environmentFault { return fault.advice(naming: libraries) }
        let advice = self.mayNeedOtherScheme ? self.code.kind.row.adviceOnScheme : nil
        return self.specificAdvice ?? (advice ?? self.sentences.advice).filled(by: self.words)
    }

    private var sentences: FailureRow.Sentences {
        let row = self.code.kind.row
        return self.phase == .proxy ? row.sentencesAboutProxy ?? row.sentences : row.sentences
    }

    private var specificProblem: String? {
        switch self.code {
        case .proxyRefused where self.isProxyCredentialRefused:
            self.loginFault?.words ?? "The proxy requires another user name and password, or any\(self.statusInWords)"
        case .timedOut: self.timeBudget?.words
        case .webSocketClosed where self.endedAnswer == .inOrder:
            "The server closed the WebSocket\(self.words(.closeCode)) without saying that its answer was complete"
        case .notHTTP where self.isSwitched:
            "The server switched to another protocol\(self.words(.status)), which was not asked for"
        case .unexpectedContentType where self.isWebPage:
            "Instead of the server a web page answered\(self.words(.status))"
        case .endedEarly where self.endedAnswer == .withoutEvent:
            "The server ended its answer\(self.words(.status)) before the first event"
        case .endedEarly where self.endedAnswer == .inOrder:
            "The answer ended behind a whole event, and the server did not say that it was complete"
        case .endedEarly where self.endedAnswer == .insideEvent:
            "The answer ended with an unfinished event"
        case .unavailable: self.environmentFault?.words
        case .outputTooLarge where self.details.detail == Self.detailOfItems:
            "The server lists more items in its answer than the limit of \(self.details.limit ?? 0)"
        default: nil
        }
    }

    private var specificAdvice: String? {
        if let advice = self.tlsRefusal?.advice(for: self.peer) { return advice }
        switch self.code {
        case .proxyRefused where self.isProxyCredentialRefused: return (self.loginFault ?? .credentialRefused).advice
        case .proxyRefused: return self.socksRefusal?.advice
        case .timedOut: return self.timeBudget?.advice
        case .endedEarly where self.endedAnswer == .withoutEvent:
            return "Check the address, and ask the server's operator: its log says why it ends its answers before they "
                + "begin."
        case .endedEarly where self.endedAnswer == .inOrder, .webSocketClosed where self.endedAnswer == .inOrder:
            return EndedAnswer.advice
        case .endedEarly where self.endedAnswer == .insideEvent:
            return
                "Try again in a moment. If all answers end so, tell the server's operator that the last event needs an "
                + "empty line behind it."
        case .notHTTP where self.isSwitched:
            return
                "Check the address; what answers there may be for WebSockets alone, or a proxy that breaks the rules of "
                + "HTTP."
        case .unexpectedContentType where self.isWebPage: return WebPage.advice
        case .unexpectedContentType:
            return self.details.serverMessage.map { _ in
                self.details.advice ?? "See what the server says, and check the address."
            }
        case .webSocketClosed where self.details.closeCode == 1008:
            return "Check what the credential allows, or use HTTP."
        case .webSocketClosed where self.details.closeCode == 1009: return "Use HTTP, or send a smaller request."
        case .outputTooLarge where self.details.detail == Self.detailOfItems:
            return "Ask the server's operator: this limit is fixed."
        default: return nil
        }
    }

    /// Returns the text of a fact, for its place in a sentence.
    private func words(_ fact: FailureText.Fact) -> String {
        switch fact {
        case .detail: self.details.detail.map { ": \($0)" } ?? ""
        case .refusal: self.tlsRefusal?.words(for: self.peer).map { ": \($0)" } ?? ""
        case .status: self.details.statusCode.map { " with status code \($0)" } ?? ""
        case .reply: self.replyWords
        case .closeCode: self.details.closeCode.map { " with code \($0)" } ?? ""
        case .limit: self.details.limit.map { " the limit of \($0) bytes" } ?? " the limit"
        case .size: self.details.limit.map { " (\($0) bytes)" } ?? ""
        case .descriptors: self.details.limit.map { " of \($0) (ulimit -n)" } ?? ""
        case .api: self.otherAPI?.words ?? "another API"
        case .dialect: self.otherAPI?.dialect ?? "WHICH"
        case .wait: self.details.retryAfter.map { "\(Int($0.seconds.rounded(.up))) s" } ?? "a minute"
        case .otherScheme: self.details.scheme?.otherWords ?? "the address has the other scheme"
        }
    }

    /// Indicates whether a server has switched protocols (RFC 9110 section 15.2.2).
    private var isSwitched: Bool { self.details.statusCode == 101 && self.phase != .proxy }

    /// Indicates whether the answer has the content type of a page for a browser.
    private var isWebPage: Bool { self.details.detail == WebPage.detail }
    private var pathWords: String {
        self.details.pathTimeLimit.map {
            " Two connections were cut after \(Int($0.seconds.rounded())) s: that looks like a time limit on the path."
        } ?? ""
    }
    /// The other side of the TLS handshake that failed.
    private var peer: TLSRefusal.Peer { self.phase == .proxy ? .proxy : .server }
    private var statusInWords: String { self.details.statusCode.map { " (status code \($0))" } ?? "" }
    private var replyWords: String {
        guard self.details.statusCode == nil, let code = self.details.systemCode else { return "" }
        return self.socksRefusal.map { ": \($0.words)" } ?? " with reply code \(code)"
    }
}

extension ChappieTransportFailure {
    /// The detail of an answer with too many items.
    package static let detailOfItems = "items"

    /// The way in which an answer ended that was not cut.
    private var endedAnswer: EndedAnswer? { self.detail() }

    /// The reason for which a TLS handshake was refused.
    var tlsRefusal: TLSRefusal? { self.detail() }

    /// The time budget that ran out; nil where the attempt had none of its own, as while it connects.
    private var timeBudget: AttemptFailure.TimeBudget? { self.detail() }

    /// The SOCKS proxy's reason for refusing the connection.
    private var socksRefusal: SOCKSRefusal? { self.detail() }

    /// The SOCKS proxy's reason for refusing the client.
    var loginFault: TransportFailure.SOCKSAuthenticationFault? { self.detail() }

    /// The API that the endpoint speaks.
    private var otherAPI: OtherAPI? { self.detail() }

    /// The environment's fault behind `unavailable`; nil when resources ran out.
    var environmentFault: TransportFailure.EnvironmentFault? { self.detail() }

    /// Returns the detail as a word of one kind; nil when it is of another kind, or missing.
    private func detail<Word: RawRepresentable<String>>() -> Word? { self.details.detail.flatMap(Word.init) }
}

extension AttemptFailure.TimeBudget {
    fileprivate var words: String {
        switch self {
        case .firstEvent: "The answer did not begin in time"
        case .idle: "The server sent nothing for too long"
        case .progress: "The server sent signs of life and no content for too long"
        case .total: "The time for all attempts together ran out"
        }
    }

    fileprivate var advice: String {
        switch self {
        case .firstEvent: "Check the network, or allow more time for its beginning."
        case .idle: "Check the network, or allow a longer silence."
        case .progress: "Ask the server's operator, or allow more time without content."
        case .total: "Allow more time in all, or ask for less."
        }
    }
}

extension TransportFailure.EnvironmentFault {
    fileprivate var words: String {
        switch self {
        case .thread: "The service thread could not be started"
        case .service: "libwebsockets' event loop could not be started"
        case .socket: "No socket could be opened"
        }
    }

    fileprivate func advice(naming libraries: [(name: String, version: String)]) -> String {
        let names = libraries.map { "\($0.name) \($0.version)" }.joined(separator: ", ")
        return switch self {
        case .thread, .service:
            "Check the limits of threads and memory (ulimit -u, ulimit -v), and the libraries: \(names)."
        case .socket:
            "The network is not at fault: check what the sandbox allows, and the libraries: \(names)."
        }
    }
}

extension OtherAPI {
    fileprivate var words: String {
        switch self {
        case .chatCompletions: "OpenAI's Chat Completions API"
        case .responses: "OpenAI's Responses API"
        case .messages: "Anthropic's Messages API"
        }
    }

    /// The value of `--dialect`.
    fileprivate var dialect: String {
        switch self {
        case .chatCompletions: "chat"
        case .responses: "responses"
        case .messages: "messages"
        }
    }
}

extension ChappieTransportFailure.Phase {
    /// Returns the words about the phase, which name the server as long as nothing of it has answered.
    fileprivate func words(about server: String?) -> String {
        let aim = server.map { " to \($0)" } ?? ""
        return switch self {
        case .resolve: "while looking up \(server ?? "the server's name")"
        case .connect: "while connecting\(aim)"
        case .proxy: "while asking the proxy for a tunnel\(aim)"
        case .tls: "while securing the connection\(aim)"
        case .upgrade: "while waiting for the server's answer"
        case .send: "while sending the request"
        case .firstEvent: "while waiting for the first event"
        case .stream: "while reading the response"
        case .close: "while closing the connection"
        }
    }
}

extension ChappieTransportKind {
    fileprivate var words: String {
        switch self {
        case .webSocket: "WebSocket"
        case .httpSSE: "HTTP"
        }
    }
}
