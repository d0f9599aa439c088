// Descriptions of failures below HTTP: sentences that are fit to show, of fixed text and numbers.
import ResponseEvents
import StreamSession
import StreamTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ChappieTransportFailure: LocalizedError {
    /// The problem, its place, and advice, in sentences that are fit to show.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }

    /// The problem, without the advice.
    public var failureReason: String? { self.problem }

    /// The advice about the problem.
    public var recoverySuggestion: String? { self.advice }

    var problem: String {
        // Without an attempt there is no place either: the request was not acceptable.
        guard self.attempts > 0 else { return "\(self.event)." }
        let attempts = self.attempts == 1 ? "1 attempt" : "\(self.attempts) attempts"
        return "\(self.event) (\(self.phase.words), \(self.transport.words), \(attempts)).\(self.pathWords)"
    }

    private var event: String {
        switch self.code.kind {
        case .invalidRequest: "The request cannot be sent as it is\(self.detailWords)"
        case .unresolvable where self.phase == .proxy: "The proxy's name has no address"
        case .unresolvable: "The server's name has no address"
        case .unreachable where self.phase == .proxy: "The proxy cannot be reached"
        case .unreachable: "The server cannot be reached"
        case .timedOut: "Time ran out"
        case .certificateRejected: "The \(self.peer.rawValue)'s certificate is not trusted\(self.refusalWords)"
        case .keyNotPinned: "The server's key is not one of those that are pinned"
        case .tlsHandshakeFailed where self.phase == .proxy:
            "The TLS handshake with the proxy failed\(self.refusalWords)"
        case .tlsHandshakeFailed: "The TLS handshake failed\(self.refusalWords)"
        case .trustAnchorsUnreadable: "The file of trusted certificates cannot be read"
        case .clientCertificateUnreadable: "The client's certificate or its key cannot be read"
        case .proxyInvalid: "The proxy cannot be used\(self.detailWords)"
        case .proxyRefused where self.isProxyCredentialRefused:
            self.loginFault?.words ?? "The proxy requires another user name and password, or any\(self.statusInWords)"
        case .proxyRefused: "The proxy refused the connection\(self.statusWords)\(self.replyWords)"
        case .notSOCKS: "The proxy does not speak SOCKS 5"
        case .notHTTP where self.phase == .proxy: "The proxy does not speak HTTP"
        case .notHTTP: "What answered does not speak HTTP"
        case .headerSectionTooLarge: "The answer's header section is larger than\(self.limitWords)"
        case .openingHandshakeInvalid: "The WebSocket was refused or answered wrongly\(self.statusWords)"
        case .protocolViolation: "The server broke the rules of WebSockets"
        case .binaryMessage: "The server sent a binary message"
        case .webSocketClosed where self.endedAnswer == .inOrder:
            "The server closed the WebSocket\(self.closeWords) without saying that its answer was complete"
        case .webSocketClosed: "The server closed the WebSocket\(self.closeWords)"
        case .peerUnresponsive: "The server stopped answering"
        case .unexpectedContentType where self.isWebPage: "Instead of the server a web page answered\(self.statusWords)"
        case .unexpectedContentType: "The answer\(self.statusWords) is not an event stream"
        case .unsupportedContentCoding: "The answer is compressed in a way that was not asked for, or more than once"
        case .corruptContentCoding: "The compressed answer is damaged or cut off"
        case .malformedBody: "A chunk of the server's answer cannot be read"
        case .undecodableEvent: "The server sent an event that cannot be read"
        case .eventTooLarge: "The server sent an event, or the items of a response, larger than\(self.limitWords)"
        case .outputTooLarge: "The answer has more output than\(self.limitWords)"
        case .endedEarly where self.endedAnswer == .withoutEvent:
            "The server ended its answer\(self.statusWords) before the first event"
        case .endedEarly where self.endedAnswer == .inOrder:
            "The answer ended behind a whole event, and the server did not say that it was complete"
        case .endedEarly: "The answer ended before it was complete"
        case .connectionLost where self.phase == .proxy: "The proxy closed the connection"
        case .connectionLost: "The connection broke"
        case .requestTooLarge: "The request is larger than a WebSocket message may be\(self.limitInWords)"
        case .unsupportedTransferCoding: "The answer has a transfer coding that was not asked for"
        case .descriptorsExhausted: "The process has no file descriptor left\(self.descriptorWords)"
        case .contradictoryEvents: "The server sent events that cannot belong to one response"
        case .sequenceGap: "Events of the response are missing"
        case .otherAPI: "This endpoint speaks \(self.otherAPI?.words ?? "another API") and not the Responses API"
        case .toolOutputAwaited: "The server waits for the output of a tool in the middle of its response"
        case .responseExpired: "The server has the response no more, or streams it no more"
        case .circuitOpen: "The request was not tried, because those before it failed"
        case .unavailable: self.environmentFault?.words ?? "The system has no resources left for a connection"
        }
    }

    var advice: String {
        if let advice = TLSRefusal(self.details)?.advice(for: self.peer) { return advice }
        return self.adviceOfCode
    }

    private var adviceOfCode: String {
        switch self.code.kind {
        case .invalidRequest: "Correct the address, the fields or the body of the request."
        case .unresolvable where self.phase == .proxy, .unreachable where self.phase == .proxy,
            .notHTTP where self.phase == .proxy, .notSOCKS:
            "Check the proxy's URL and the network."
        case .tlsHandshakeFailed where self.phase == .proxy:
            "Check the proxy's URL: https is for a proxy that is spoken to by TLS, http for one that is not."
        case .unresolvable, .unreachable: "Check the address, the network and the firewall."
        case .timedOut: "Check the network, or allow more time."
        case .certificateRejected where self.phase == .proxy:
            "Check the proxy's URL, or name the certification authority that signed it."
        case .certificateRejected: "Check the address, or name the certification authority that signed it."
        case .keyNotPinned: "Check the address and the network, and pin the new key if the server has changed it."
        case .trustAnchorsUnreadable: "Check the file's name and format (PEM)."
        case .clientCertificateUnreadable:
            "Check the files' names and format (PEM), and that the key is the certificate's."
        case .proxyInvalid: "Correct the proxy's URL."
        case .proxyRefused where self.isProxyCredentialRefused:
            (self.loginFault ?? .credentialRefused).advice
        case .proxyRefused: (SOCKSRefusal(self.details) ?? .notAllowed).advice
        case .descriptorsExhausted: "Raise the limit (ulimit -n), or open fewer connections at once."
        case .endedEarly where self.endedAnswer == .withoutEvent:
            "Check the address, and ask the server's operator: its log says why it ends its answers before they begin."
        case .endedEarly where self.endedAnswer == .inOrder: EndedAnswer.advice
        case .webSocketClosed where self.endedAnswer == .inOrder: EndedAnswer.advice
        case .unexpectedContentType where self.isWebPage: WebPage.advice
        case .unexpectedContentType where self.details.serverMessage != nil:
            self.details.serverMessage.flatMap { ServerErrorFacts(body: $0.utf8)?.adviceOnRequest }
                ?? "See what the server says, and check the address."
        case .notHTTP, .unexpectedContentType: "Check the address; a proxy or a sign-in page may stand in between."
        case .openingHandshakeInvalid: "Use HTTP, or ask the operator of the server or the proxy to allow WebSockets."
        case .webSocketClosed where self.details.closeCode == 1008: "Check what the credential allows, or use HTTP."
        case .webSocketClosed where self.details.closeCode == 1009: "Use HTTP, or send a smaller request."
        case .headerSectionTooLarge: "Ask the operator of the server or the proxy: this limit is fixed."
        case .malformedBody: "Ask the operator of the server or the proxy: its answers break the rules of HTTP/1.1."
        case .eventTooLarge, .outputTooLarge: "Raise the limit if the server is right."
        case .requestTooLarge: "Allow HTTP, or send a smaller request."
        case .otherAPI:
            "Use the base URL below which the server has /responses, or put a gateway that translates in front of it."
        case .toolOutputAwaited: "Turn multi_agent off: here outputs go back when a response is complete."
        case .responseExpired: "Ask for the response by its identifier, or send the request again."
        case .circuitOpen: "Try again in \(self.waitWords)."
        case .unavailable: self.environmentFault?.advice ?? "Close other connections or programs, and try again."
        case .tlsHandshakeFailed, .protocolViolation, .binaryMessage, .webSocketClosed, .peerUnresponsive,
            .unsupportedContentCoding, .corruptContentCoding, .undecodableEvent, .endedEarly, .connectionLost,
            .unsupportedTransferCoding, .contradictoryEvents, .sequenceGap:
            "Try again in a moment."
        }
    }

    /// Indicates whether the answer has the content type of a page for a browser.
    private var isWebPage: Bool { self.details.detail == WebPage.detail }
    private var waitWords: String {
        self.details.retryAfter.map { "\(Int($0.seconds.rounded(.up))) s" } ?? "a minute"
    }
    private var pathWords: String {
        self.details.pathTimeLimit.map {
            " Two connections were cut after \(Int($0.seconds.rounded())) s: that looks like a time limit on the path."
        } ?? ""
    }
    /// The other side of the TLS handshake that failed.
    private var peer: TLSRefusal.Peer { self.phase == .proxy ? .proxy : .server }
    private var refusalWords: String { TLSRefusal(self.details)?.words(for: self.peer).map { ": \($0)" } ?? "" }
    private var detailWords: String { self.details.detail.map { ": \($0)" } ?? "" }
    private var limitWords: String { self.details.limit.map { " the limit of \($0) bytes" } ?? " the limit" }
    private var descriptorWords: String { self.details.limit.map { " of \($0) (ulimit -n)" } ?? "" }
    private var limitInWords: String { self.details.limit.map { " (\($0) bytes)" } ?? "" }
    private var statusWords: String { self.details.statusCode.map { " with status code \($0)" } ?? "" }
    private var statusInWords: String { self.details.statusCode.map { " (status code \($0))" } ?? "" }
    private var replyWords: String {
        guard self.details.statusCode == nil, let code = self.details.systemCode else { return "" }
        return SOCKSRefusal(self.details).map { ": \($0.words)" } ?? " with reply code \(code)"
    }
    private var closeWords: String { self.details.closeCode.map { " with code \($0)" } ?? "" }
}

extension ChappieTransportFailure {
    /// The way in which an answer ended that was not cut.
    private var endedAnswer: EndedAnswer? { self.details.detail.flatMap(EndedAnswer.init) }

    /// The SOCKS proxy's reason for refusing the client.
    private var loginFault: TransportFailure.SOCKSAuthenticationFault? { .init(self.details) }

    /// The API that the endpoint speaks.
    private var otherAPI: OtherAPI? { self.details.detail.flatMap(OtherAPI.init) }

    /// The environment's fault behind `unavailable`; nil when resources ran out.
    var environmentFault: TransportFailure.EnvironmentFault? {
        self.details.detail.flatMap(TransportFailure.EnvironmentFault.init)
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

    fileprivate var advice: String {
        switch self {
        case .thread, .service:
            "Check the limits of threads and memory (ulimit -u, ulimit -v), and the libraries: \(Self.libraries)."
        case .socket:
            "The network is not at fault: check what the sandbox allows, and the libraries: \(Self.libraries)."
        }
    }

    private static let libraries = ChappieLinkedLibraries.versions.map { "\($0.name) \($0.version)" }
        .joined(separator: ", ")
}

extension OtherAPI {
    fileprivate var words: String {
        switch self {
        case .chatCompletions: "OpenAI's Chat Completions API"
        case .messages: "Anthropic's Messages API"
        }
    }
}

extension ChappieTransportFailure.Phase {
    fileprivate var words: String {
        switch self {
        case .resolve: "while looking up the server's name"
        case .connect: "while connecting"
        case .proxy: "while asking the proxy for a tunnel"
        case .tls: "while securing the connection"
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
