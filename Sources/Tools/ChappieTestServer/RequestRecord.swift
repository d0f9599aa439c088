// The record of an attempt.
//
// A value; the server's log hands out copies.

extension ChappieTestServer {
    /// One attempt as the server saw it.
    ///
    /// It never contains credentials.
    public struct RequestRecord: Codable, Hashable, Sendable {
        /// The attempt's number, from 1.
        public var attempt: Int
        /// The number of the TCP connection that carries it, from 1.
        public var connection: Int
        /// The transport.
        public var transport: Transport
        /// The request method.
        public var method: String
        /// The request target's path.
        public var path: String
        /// The request target's query; empty when there is none.
        public var query: String
        /// The request's fields apart from those that carry credentials.
        public var fields: [Field]
        /// The server name in the client's TLS handshake (RFC 6066 section 3); nil when it sent none.
        public var serverName: String?
        /// Indicates whether the client has resumed a TLS session.
        public var isTLSResumed = false
        /// Indicates whether a bearer token was there.
        public var hasAuthorization: Bool
        /// The POST's body, or each message of the WebSocket, as text.
        public var bodies: [String] = []
        /// The number of bytes of the bodies, after decompression.
        public var bodyByteCount = 0
        /// The status of the answer; nil when there was none.
        public var status: Int?
        /// The extension that was agreed on.
        public var acceptedExtension: String?
        /// The number of received pings.
        public var pingCount = 0
        /// The number of received pongs.
        public var pongCount = 0
        /// The number of sent pings.
        public var sentPingCount = 0
        /// The number of pongs with the payload of a ping that was not answered before.
        public var matchedPongCount = 0
        /// The code of the client's Close frame, 1005 when it had none; nil when no such frame was received.
        public var closeCode: Int?
        /// The reason of the client's Close frame.
        public var closeReason: String?
        /// The number of bytes written for the attempt.
        public var sentByteCount = 0
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
        public var turnStates: [String?] {
            switch self.transport {
            case .http: [self.value(of: "x-codex-turn-state")]
            case .webSocket:
                self.bodies.map { JSONValue(Array($0.utf8))?["client_metadata"]?["x-codex-turn-state"]?.string }
            }
        }
    }

    /// An event to wait for, counted over the server's life.
    public enum Milestone: Hashable, Sendable {
        /// This number of connections was accepted.
        case connections(Int)
        /// This number of attempts has arrived.
        case attempts(Int)
        /// This number of POST bodies and WebSocket messages has arrived.
        case bodies(Int)
        /// This number of pings has arrived.
        case pings(Int)
        /// This number of pongs has arrived.
        case pongs(Int)
        /// This number of Close frames has arrived.
        case closes(Int)
        /// This number of responses was sent up to their terminal event.
        case completedResponses(Int)
        /// This number of attempts has ended.
        case finishedAttempts(Int)
        /// This number of requests to a sign-in endpoint has arrived and been performed.
        case signInRequests(SignIn.Endpoint, Int)
    }
}
