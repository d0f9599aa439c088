/// The meaning of a failure below HTTP: the engine's reaction and the caller's facts and words, so that they agree.
///
/// Immutable values without an owner. `AttemptFailure.failureClass` refines the class by the failure's details.
package struct FailureRow: Sendable {
    /// A description of the problem, and advice about it.
    package struct Sentences: Sendable {
        /// The problem, without the full stop.
        package let problem: FailureText
        /// The advice, a sentence.
        package let advice: FailureText
    }

    /// The engine's reaction.
    package let failureClass: FailureClass
    /// The kind of problem.
    package let category: ChappieErrorCategory
    /// The caller's next step.
    package let retry: RetryAdvice
    /// Indicates whether a person has to act before the same request can succeed.
    package let requiresUserAction: Bool
    /// Indicates whether it points to a defect of the program or of the server.
    package let shouldReport: Bool
    /// The sentences for the program's user.
    package let sentences: Sentences
    /// The sentences where the proxy failed; nil where they are the same.
    package let sentencesAboutProxy: Sentences?

    fileprivate init(
        _ failureClass: FailureClass, _ category: ChappieErrorCategory, _ retry: RetryAdvice = .never,
        user requiresUserAction: Bool = false, report shouldReport: Bool = false,
        _ problem: FailureText, _ advice: FailureText = "Try again in a moment.",
        proxy: (FailureText, FailureText)? = nil
    ) {
        self.failureClass = failureClass
        self.category = category
        self.retry = retry
        self.requiresUserAction = requiresUserAction
        self.shouldReport = shouldReport
        self.sentences = Sentences(problem: problem, advice: advice)
        self.sentencesAboutProxy = proxy.map { Sentences(problem: $0.0, advice: $0.1) }
    }
}

/// The advice before the same request is sent again.
package enum RetryAdvice: Sendable {
    /// The same request would fail again.
    case never
    /// With a new credential.
    case afterCredential
    /// After a delay for the network.
    case afterNetworkFailure
    /// After a delay for the server.
    case afterServerFailure
    /// After a delay for the server's limit.
    case afterRateLimit

    /// Creates the advice that matches the engine's own reaction.
    package init(after failureClass: FailureClass) {
        switch failureClass {
        case .credential: self = .afterCredential
        case .throttle: self = .afterRateLimit
        case .transient, .server: self = .afterServerFailure
        case .probable, .offline: self = .afterNetworkFailure
        case .definite, .size, .usageLimit, .fatal: self = .never
        }
    }
}

/// A sentence with places for the facts of a failure: `"larger than\(.limit)"`.
///
/// A fact that is not known takes no space; its text begins with the space or colon that it needs.
package struct FailureText: ExpressibleByStringInterpolation, Sendable {
    /// A fact of a failure.
    package enum Fact: Sendable, CaseIterable {
        /// The detail, after a colon.
        case detail
        /// The reason for a refused TLS handshake, after a colon.
        case refusal
        /// ` with status code N`.
        case status
        /// A SOCKS proxy's reply.
        case reply
        /// ` with code N`, of a WebSocket's end.
        case closeCode
        /// ` the limit of N bytes`.
        case limit
        /// ` (N bytes)`.
        case size
        /// ` of N (ulimit -n)`.
        case descriptors
        /// The name of the API that the endpoint speaks.
        case api
        /// The advice about a proxy's refusal.
        case proxyAdvice
        /// The time until another attempt.
        case wait
    }

    /// A part of the text.
    package enum Piece: Sendable {
        case text(String)
        case fact(Fact)
    }

    /// Collects the parts of an interpolated literal.
    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        package init(literalCapacity: Int, interpolationCount: Int) {}

        package mutating func appendLiteral(_ literal: String) { self.pieces.append(.text(literal)) }

        package mutating func appendInterpolation(_ fact: Fact) { self.pieces.append(.fact(fact)) }
    }

    /// The parts, in order.
    package let pieces: [Piece]

    package init(stringLiteral value: String) { self.pieces = [.text(value)] }

    package init(stringInterpolation: StringInterpolation) { self.pieces = stringInterpolation.pieces }

    /// Returns the text with the facts in their places.
    package func filled(by fact: (Fact) -> String) -> String {
        self.pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .fact(let name): fact(name)
            }
        }.joined()
    }
}

extension FailureCode {
    /// The row of the code in the table of failures.
    package var row: FailureRow {
        switch self {
        case .invalidRequest:
            FailureRow(
                .fatal, .validation, user: true, report: true, "The request cannot be sent as it is\(.detail)",
                "Correct the address, the fields or the body of the request.")
        case .unresolvable:
            FailureRow(
                .probable, .network, .afterNetworkFailure, "The server's name has no address",
                "Check the address, the network and the firewall.",
                proxy: ("The proxy's name has no address", "Check the proxy's URL and the network."))
        case .unreachable:
            FailureRow(
                .probable, .network, .afterNetworkFailure, "The server cannot be reached",
                "Check the address, the network and the firewall.",
                proxy: ("The proxy cannot be reached", "Check the proxy's URL and the network."))
        case .timedOut:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "Time ran out", "Check the network, or allow more time.")
        case .certificateRejected:
            FailureRow(
                .definite, .network, user: true, "The server's certificate is not trusted\(.refusal)",
                "Check the address, or name the certification authority that signed it.",
                proxy: (
                    "The proxy's certificate is not trusted\(.refusal)",
                    "Check the proxy's URL, or name the certification authority that signed it."
                ))
        case .keyNotPinned:
            FailureRow(
                .fatal, .network, user: true, "The server's key is not one of those that are pinned",
                "Check the address and the network, and pin the new key if the server has changed it.")
        case .tlsHandshakeFailed:
            FailureRow(
                .probable, .network, .afterNetworkFailure, "The TLS handshake failed\(.refusal)",
                proxy: (
                    "The TLS handshake with the proxy failed\(.refusal)",
                    "Check the proxy's URL: https is for a proxy that is spoken to by TLS, http for one that is not."
                ))
        case .trustAnchorsUnreadable:
            FailureRow(
                .fatal, .validation, user: true, "The file of trusted certificates cannot be read",
                "Check the file's name and format (PEM).")
        case .clientCertificateUnreadable:
            FailureRow(
                .fatal, .validation, user: true, "The client's certificate or its key cannot be read",
                "Check the files' names and format (PEM), and that the key is the certificate's.")
        case .proxyInvalid:
            FailureRow(
                .fatal, .validation, user: true, "The proxy cannot be used\(.detail)", "Correct the proxy's URL.")
        case .proxyRefused:
            FailureRow(
                .probable, .network, .afterNetworkFailure, "The proxy refused the connection\(.status)\(.reply)",
                "\(.proxyAdvice)")
        case .notSOCKS:
            FailureRow(
                .probable, .server, user: true, "The proxy does not speak SOCKS 5",
                "Check the proxy's URL and the network.")
        case .notHTTP:
            FailureRow(
                .probable, .server, user: true, "What answered does not speak HTTP",
                "Check the address; a proxy or a sign-in page may stand in between.",
                proxy: ("The proxy does not speak HTTP", "Check the proxy's URL and the network."))
        case .headerSectionTooLarge:
            FailureRow(
                .definite, .server, report: true, "The answer's header section is larger than\(.limit)",
                "Ask the operator of the server or the proxy: this limit is fixed.")
        case .openingHandshakeInvalid:
            FailureRow(
                .definite, .server, .afterServerFailure, report: true,
                "The WebSocket was refused or answered wrongly\(.status)",
                "Use HTTP, or ask the operator of the server or the proxy to allow WebSockets.")
        case .protocolViolation:
            FailureRow(
                .probable, .server, .afterServerFailure, report: true, "The server broke the rules of WebSockets")
        case .binaryMessage:
            FailureRow(.probable, .server, .afterServerFailure, report: true, "The server sent a binary message")
        case .webSocketClosed:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "The server closed the WebSocket\(.closeCode)")
        case .peerUnresponsive:
            FailureRow(.transient, .network, .afterNetworkFailure, "The server stopped answering")
        case .unexpectedContentType:
            FailureRow(
                .fatal, .server, user: true, "The answer\(.status) is not an event stream",
                "Check the address; a proxy or a sign-in page may stand in between.")
        case .unsupportedContentCoding:
            FailureRow(
                .definite, .server, report: true,
                "The answer is compressed in a way that was not asked for, or more than once")
        case .corruptContentCoding:
            FailureRow(
                .transient, .server, .afterServerFailure, report: true,
                "The compressed answer is damaged or cut off")
        case .malformedBody:
            FailureRow(
                .transient, .server, .afterServerFailure, report: true,
                "A chunk of the server's answer cannot be read",
                "Ask the operator of the server or the proxy: its answers break the rules of HTTP/1.1.")
        case .undecodableEvent:
            FailureRow(
                .probable, .server, .afterServerFailure, report: true,
                "The server sent an event that cannot be read")
        case .eventTooLarge:
            FailureRow(
                .fatal, .server, report: true,
                "The server sent an event, or the items of a response, larger than\(.limit)",
                "Raise the limit if the server is right.")
        case .outputTooLarge:
            FailureRow(
                .fatal, .server, report: true, "The answer has more output than\(.limit)",
                "Raise the limit if the server is right.")
        case .endedEarly:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "The answer ended before it was complete")
        case .connectionLost:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "The connection broke",
                proxy: ("The proxy closed the connection", "Try again in a moment."))
        case .requestTooLarge:
            FailureRow(
                .size, .validation, user: true, "The request is larger than a WebSocket message may be\(.size)",
                "Allow HTTP, or send a smaller request.")
        case .unsupportedTransferCoding:
            FailureRow(
                .definite, .server, report: true, "The answer has a transfer coding that was not asked for")
        case .contradictoryEvents:
            FailureRow(
                .probable, .server, .afterServerFailure, report: true,
                "The server sent events that cannot belong to one response")
        case .sequenceGap:
            FailureRow(.transient, .network, .afterNetworkFailure, "Events of the response are missing")
        // The other API belongs to the address, not to the request; HTTP may lead to a different one.
        case .otherAPI:
            FailureRow(
                .definite, .validation, user: true, "This endpoint speaks \(.api) and not the Responses API",
                "Use the base URL below which the server has /responses, or put a gateway that translates in front of it."
            )
        case .toolOutputAwaited:
            FailureRow(
                .fatal, .validation, user: true,
                "The server waits for the output of a tool in the middle of its response",
                "Turn multi_agent off: here outputs go back when a response is complete.")
        case .responseExpired:
            FailureRow(
                .fatal, .validation, user: true, "The server has the response no more, or streams it no more",
                "Ask for the response by its identifier, or send the request again.")
        case .circuitOpen:
            FailureRow(
                .fatal, .network, .afterNetworkFailure, "The request was not tried, because those before it failed",
                "Try again in \(.wait).")
        case .descriptorsExhausted:
            FailureRow(
                .fatal, .internal, .afterServerFailure, "The process has no file descriptor left\(.descriptors)",
                "Raise the limit (ulimit -n), or open fewer connections at once.")
        case .unavailable:
            FailureRow(
                .fatal, .internal, .afterServerFailure, report: true,
                "The system has no resources left for a connection",
                "Close other connections or programs, and try again.")
        }
    }
}
