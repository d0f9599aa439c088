// The record of an attempt.
//
// A value; the server's log hands out copies.

extension ChappieTestServer {
    /// One attempt as the server saw it.
    ///
    /// It never contains credentials.
    public struct RequestRecord: Sendable {
        /// The attempt's number, from 1.
        public var attempt: Int
        /// The number of the TCP connection that carries it, from 1.
        package var connection: Int
        /// The transport.
        public var transport: Transport
        /// The request method.
        public var method: String
        /// The request target's path.
        public var path: String
        /// The request target's query; empty when there is none.
        package var query: String
        /// The request's fields apart from those that carry credentials.
        public var fields: [Field]
        /// The server name in the client's TLS handshake (RFC 6066 section 3); nil when it sent none.
        package var serverName: String?
        /// Indicates whether the client has resumed a TLS session.
        package var isTLSResumed = false
        /// Indicates whether a bearer token was there.
        public var hasAuthorization: Bool
        /// The POST's body, or each message of the WebSocket, as text.
        public var bodies: [String] = []
        /// The number of bytes of the bodies, after decompression.
        package var bodyByteCount = 0
        /// The status of the answer; nil when there was none.
        public var status: Int?
        /// The extension that was agreed on.
        package var acceptedExtension: String?
        /// The number of received pings.
        package var pingCount = 0
        /// The number of received pongs.
        package var pongCount = 0
        /// The number of sent pings.
        package var sentPingCount = 0
        /// The number of pongs with the payload of a ping that was not answered before.
        package var matchedPongCount = 0
        /// The code of the client's Close frame, 1005 when it had none; nil when no such frame was received.
        public var closeCode: Int?
        /// The reason of the client's Close frame.
        package var closeReason: String?
        /// The number of bytes written for the attempt.
        package var sentByteCount = 0
        /// The number of responses that were sent up to their terminal event.
        public var completedResponseCount = 0
        /// Indicates whether the attempt is over: no more bytes are written for it.
        public var isFinished = false

        /// Returns the value of the first field of that name, in any case.
        public func value(of name: String) -> String? {
            self.fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }

        /// The turn state that the client has echoed: in a field of a POST, or in each message of a WebSocket, where
        /// nil is a message without it.
        package var turnStates: [String?] {
            switch self.transport {
            case .http: [self.value(of: "x-codex-turn-state")]
            case .webSocket:
                self.bodies.map { JSONValue(Array($0.utf8))?["client_metadata"]?["x-codex-turn-state"]?.string }
            }
        }
    }

    /// An event to wait for, counted over the server's life.
    public struct Milestone: Sendable {
        /// Returns whether the counts have reached the milestone.
        let isReached: @Sendable (RequestLog.Totals) -> Bool

        /// This number of connections was accepted.
        public static func connections(_ count: Int) -> Self { Self { $0.connections >= count } }
        /// This number of attempts has arrived.
        public static func attempts(_ count: Int) -> Self { Self { $0.attempts >= count } }
        /// This number of POST bodies and WebSocket messages has arrived.
        public static func bodies(_ count: Int) -> Self { Self { $0.bodies >= count } }
        /// This number of pings has arrived.
        package static func pings(_ count: Int) -> Self { Self { $0.pings >= count } }
        /// This number of pongs has arrived.
        package static func pongs(_ count: Int) -> Self { Self { $0.pongs >= count } }
        /// This number of Close frames has arrived.
        public static func closes(_ count: Int) -> Self { Self { $0.closes >= count } }
        /// This number of responses was sent up to their terminal event.
        public static func completedResponses(_ count: Int) -> Self { Self { $0.completedResponses >= count } }
        /// This number of attempts has ended.
        public static func finishedAttempts(_ count: Int) -> Self { Self { $0.finishedAttempts >= count } }
        /// This number of requests to a sign-in endpoint has arrived and been performed.
        package static func signInRequests(_ endpoint: SignIn.Endpoint, _ count: Int) -> Self {
            Self { $0.signInRequests[endpoint, default: 0] >= count }
        }
    }
}
