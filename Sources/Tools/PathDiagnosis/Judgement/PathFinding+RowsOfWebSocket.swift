// The part of the table of the faults that is about WebSockets, event streams and idle connections. Pure.

extension PathFinding {
    /// The rows of a WebSocket, from its opening handshake to its pings.
    var rowOfWebSocket: Row {
        let http = "Use HTTP alone (--http-only), which the engine does by itself after its attempts."
        let allow = "Ask the operator of the server or the proxy, or the network's, to allow WebSockets."
        switch self {
        case .webSocketNotOffered:
            return Row(
                .webSocket, .webSocket, "the server offers no WebSocket at this address", [http], set: [.httpOnly])
        case .webSocketBlocked:
            return Row(
                .webSocket, .webSocket, "the upgrade is refused by something on the path", [http, allow],
                set: [.httpOnly])
        case .webSocketRefused:
            return Row(
                .webSocket, .webSocket, "the upgrade is refused, by the server or by something on the path",
                [http, allow], set: [.httpOnly])
        case .webSocketUnauthorized:
            return Row(
                .webSocket, .webSocket, "the upgrade is refused for want of a credential that it accepts",
                [
                    "Use HTTP alone (--http-only): after this refusal the engine ends a turn, and does not change to HTTP.",
                    "Check what the credential allows, and ask the server's operator.",
                ], set: [.httpOnly])
        case .webSocketLimited:
            return Row(
                .webSocket, .doubt, "requests are limited at this time, so that WebSockets were not examined",
                ["Try again later: turns are refused in the same way until then."])
        case .webSocketAltered:
            return Row(
                .webSocket, .webSocket, "something on the path alters the opening handshake", [http, allow],
                set: [.httpOnly])
        case .webSocketContent:
            return Row(
                .webSocket, .webSocket,
                "the answer 101 has a Content-Length or a Transfer-Encoding, which RFC 9110 section 8.6 and RFC 9112 section 6.1"
                    + " forbid",
                [http, "Tell the operator of the server, or of what stands in front of it on the path."],
                set: [.httpOnly])
        case .webSocketCut:
            return Row(
                .webSocket, .webSocket, "the connection is cut during the upgrade", [http, allow], set: [.httpOnly])
        case .webSocketSilent:
            return Row(
                .webSocket, .webSocket, "the upgrade is not answered", [http, allow], set: [.httpOnly])
        case .webSocketUnknown:
            return Row(
                .webSocket, .doubt, "no time was left to examine the WebSocket",
                ["The path or the server is slow: leave --fast out, if it was given, or try again."])
        case .compressionBroken:
            return Row(
                .compression, .webSocket, "something on the path breaks the compression of WebSockets",
                ["Do not offer compression (--no-compression)."], set: [.noCompression])
        case .closedEarly:
            return Row(
                .earlyClose, .webSocket, "the WebSocket is closed soon after it is established",
                [http, allow, "Check what the credential allows."],
                set: [.httpOnly])
        case .largeMessages:
            return Row(
                .messages, .quality, "large messages do not pass the WebSocket",
                [http, "Or send smaller requests."], set: [.httpOnly])
        case .everyMessage:
            return Row(
                .messages, .webSocket, "messages do not pass the WebSocket", [http, allow], set: [.httpOnly])
        case .damagedMessages:
            return Row(
                .messages, .webSocket, "messages on the WebSocket arrive damaged", [http, allow], set: [.httpOnly])
        case .pingsUnanswered:
            return Row(
                .pings, .quality, "pings are not answered",
                ["Turn pings off where the server never answers them (--ping-interval 0).", http])
        case .pingsSlow:
            return Row(
                .pings, .quality, "answers to pings are slow",
                ["Expect slow first events; a nearer network, or one that loses fewer packets, helps."])
        default: return Self.missing
        }
    }

    /// The rows of event streams and of idle connections.
    var rowOfStreaming: Row {
        let unbuffer = "Have event streams excepted from buffering (nginx: proxy_buffering off)."
        switch self {
        case .buffered:
            return Row(
                .eventStream, .quality, "event streams are buffered by something on the path",
                ["Use a WebSocket, where that works.", unbuffer])
        case .whole:
            return Row(
                .eventStream, .quality, "event streams are held back until they have ended",
                ["Use a WebSocket, where that works.", unbuffer])
        case .eventsCut:
            return Row(
                .eventStream, .http, "event streams are cut on the path",
                [
                    "Use a WebSocket, where that works.",
                    "Ask the operators of proxies and balancers on the path for their time limits.",
                ])
        case .eventsSilent:
            return Row(
                .eventStream, .http, "event streams do not arrive", ["Use a WebSocket, where that works.", unbuffer])
        case .eventsRefused:
            return Row(
                .eventStream, .http, "event streams are refused",
                [
                    "Ask the network's operator: the probe server itself does not refuse them, so something on the path does."
                ])
        case .eventsAltered:
            return Row(
                .eventStream, .http, "something on the path alters event streams",
                [
                    "Use a WebSocket, where that works.",
                    "Ask the network's operator: the probe server itself sends a fixed number of events as text/event-stream.",
                ])
        case .idleCut:
            return Row(
                .idle, .quality, "idle connections are cut on the path",
                [
                    "Send pings more often (--ping-interval).",
                    "Ask the operators of proxies and balancers on the path for their time limits.",
                ])
        case .idleAnswered:
            return Row(
                .idle, .quality, "something on the path answers an exchange that is to be silent",
                [
                    "Ask the operators of proxies, caches and balancers on the path: one answers in the probe server's place."
                ])
        default: return Self.missing
        }
    }
}
