// The table of failures below HTTP: one row for each code.

extension FailureCode {
    /// The row of the code.
    package var row: FailureRow {
        switch self {
        // MARK: Before the connection

        // The program's own policy, limit or credential prevents the request, over either transport: `fatal`.
        case .invalidRequest:
            FailureRow(
                .fatal, .validation, user: true, report: true, "The request cannot be sent as it is\(.detail)",
                "Correct the address, the fields or the body of the request.")
        // It concerns no attempt. The time is that of the breaker's default, where the failure has none.
        case .circuitOpen:
            FailureRow(
                .fatal, .network, .retryWithBackoff(afterSeconds: 60),
                "The request was not tried, because those before it failed",
                "Try again in \(.wait).")
        case .shutDown:
            FailureRow(
                .fatal, .validation, .none, "The engine was shut down before the turn was complete",
                "Send the request again with another engine, or let shutdown() wait for longer.")
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
        case .descriptorsExhausted:
            FailureRow(
                .fatal, .internal, .afterServerFailure, "The process has no file descriptor left\(.descriptors)",
                "Raise the limit (ulimit -n), or open fewer connections at once.")
        case .unavailable:
            FailureRow(
                .fatal, .internal, .afterServerFailure, report: true,
                "The system has no resources left for a connection",
                "Close other connections or programs, and try again.")

        // MARK: The connection and its proxy

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
        case .connectionLost:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "The connection broke",
                proxy: ("The proxy closed the connection", "Try again in a moment."), scheme: .withTLS)
        case .peerUnresponsive:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "The server stopped answering")
        case .proxyRefused:
            FailureRow(
                .probable, .network, .afterNetworkFailure, "The proxy refused the connection\(.status)\(.reply)",
                "Ask the proxy's operator to allow the server, or name it in NO_PROXY.")
        case .notSOCKS:
            FailureRow(
                .probable, .server, user: true, "The proxy does not speak SOCKS 5",
                "Check the proxy's URL and the network.")

        // MARK: TLS

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
                ),
                scheme: "Check the port: if the server has no TLS there, \(.otherScheme).")

        // MARK: HTTP

        case .notHTTP:
            FailureRow(
                .probable, .server, user: true, "What answered does not speak HTTP",
                "Check the address; a proxy or a sign-in page may stand in between.",
                proxy: ("The proxy does not speak HTTP", "Check the proxy's URL and the network."), scheme: .withTLS)
        case .headerSectionTooLarge:
            FailureRow(
                .definite, .server, report: true, "The answer's header section is larger than\(.limit)",
                "Ask the operator of the server or the proxy: this limit is fixed.")
        case .unexpectedContentType:
            FailureRow(
                .fatal, .server, user: true, "The answer\(.status) is not an event stream",
                "Check the address; a proxy or a sign-in page may stand in between.")
        case .unsupportedContentCoding:
            FailureRow(
                .definite, .server, report: true,
                "The answer is compressed in a way that was not asked for, more than once, or without saying so",
                .withoutCompression)
        case .corruptContentCoding:
            FailureRow(
                .transient, .server, .afterServerFailure, report: true,
                "The compressed answer is damaged or cut off")
        case .malformedBody:
            FailureRow(
                .transient, .server, .afterServerFailure, report: true,
                "A chunk of the server's answer cannot be read",
                "Ask the operator of the server or the proxy: its answers break the rules of HTTP/1.1.")
        case .unsupportedTransferCoding:
            FailureRow(
                .definite, .server, report: true, "The answer has a transfer coding other than a single chunked",
                .withoutCompression)

        // MARK: WebSocket

        case .openingHandshakeInvalid:
            FailureRow(
                .definite, .server, .afterServerFailure, report: true,
                "The WebSocket was refused or answered wrongly\(.status)",
                "Use HTTP, or ask the operator of the server or the proxy to allow WebSockets.")
        case .protocolViolation:
            FailureRow(
                .probable, .server, .afterServerFailure, report: true, "The server broke the rules of WebSockets")
        case .binaryMessage:
            FailureRow(
                .probable, .server, .afterServerFailure, report: true, "The server sent a binary message")
        // The close code decides the class, the category and the retry (RFC 6455 section 7.4.1).
        case .webSocketClosed:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "The server closed the WebSocket\(.closeCode)")
        case .requestTooLarge:
            FailureRow(
                .size, .validation, user: true, "The request is larger than a WebSocket message may be\(.size)",
                "Allow HTTP, or send a smaller request.")

        // MARK: Events

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
        case .contradictoryEvents:
            FailureRow(
                .probable, .server, .afterServerFailure, report: true,
                "The server sent events that cannot belong to one response")
        case .sequenceGap:
            FailureRow(
                .transient, .network, .afterNetworkFailure, "Events of the response are missing")
        // The other API belongs to the address, not to the request; HTTP may lead to a different one.
        case .otherAPI:
            FailureRow(
                .definite, .validation, user: true, "This endpoint speaks \(.api) and not the API that was asked for",
                "Set the dialect that it speaks (--dialect \(.dialect)), or put a gateway that translates in front of it."
            )
        case .toolOutputAwaited:
            FailureRow(
                .fatal, .validation, user: true,
                "The server waits for the output of a tool in the middle of its response",
                "Turn multi_agent off: here outputs go back when a response is complete.")
        // It concerns the answer to a resumption, whose status code decides the class.
        case .responseExpired:
            FailureRow(
                .fatal, .validation, user: true, "The server has the response no more, or streams it no more",
                "Ask for the response itself, or send the request again.")
        }
    }
}

extension FailureText {
    /// The advice about an answer in a coding that this side did not ask for.
    fileprivate static let withoutCompression: Self =
        "Turn compression off (offersCompression, --no-compression), or ask the operator of the server or the proxy."
    /// The advice where a plain request has no answer of HTTP.
    fileprivate static let withTLS: Self = "Check the port: if the server has TLS there, \(.otherScheme)."
}
