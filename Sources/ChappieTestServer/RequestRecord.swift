// What the server remembers of an attempt.
//
// A value; the server's log hands out copies.

extension ChappieTestServer {
    /// One attempt as the server saw it.
    ///
    /// Credentials are never in it.
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
        /// The name that the client sent with TLS (RFC 6066 section 3); nil when it sent none.
        public var serverName: String?
        /// Indicates whether the client has resumed a TLS session.
        public var isTLSResumed = false
        /// Indicates whether a bearer token was there.
        public var hasAuthorization: Bool
        /// The POST's body, or each message of the WebSocket, as text.
        public var bodies: [String] = []
        /// The bytes of those, after decompression.
        public var bodyByteCount = 0
        /// The status that was answered; nil when nothing was.
        public var status: Int?
        /// The extension that was agreed on.
        public var acceptedExtension: String?
        /// How many pings arrived.
        public var pingCount = 0
        /// How many pongs arrived.
        public var pongCount = 0
        /// How many pings were sent.
        public var sentPingCount = 0
        /// How many pongs have the payload of a ping that was not answered before.
        public var matchedPongCount = 0
        /// The code of the client's Close frame, 1005 when it had none; nil when no such frame came.
        public var closeCode: Int?
        /// The reason of the client's Close frame.
        public var closeReason: String?
        /// How many bytes were written for the attempt.
        public var sentByteCount = 0
        /// How many responses were sent up to their terminal event.
        public var completedResponseCount = 0
        /// Indicates whether the attempt is over: nothing more is written for it.
        public var isFinished = false

        /// The value of the first field of that name, in any case.
        public func value(of name: String) -> String? {
            self.fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }

        /// The turn state that the client has echoed: in a field of a POST, or in each message of a WebSocket, where nil
        /// is a message without it.
        public var turnStates: [String?] {
            switch self.transport {
            case .http: [self.value(of: "x-codex-turn-state")]
            case .webSocket:
                self.bodies.map { JSONValue(Array($0.utf8))?["client_metadata"]?["x-codex-turn-state"]?.string }
            }
        }
    }

    /// Something to wait for, counted over the server's life.
    public enum Milestone: Hashable, Sendable {
        /// So many connections were accepted.
        case connections(Int)
        /// So many attempts have arrived.
        case attempts(Int)
        /// So many POST bodies and WebSocket messages have arrived.
        case bodies(Int)
        /// So many pings have arrived.
        case pings(Int)
        /// So many pongs have arrived.
        case pongs(Int)
        /// So many Close frames have arrived.
        case closes(Int)
        /// So many responses were sent up to their terminal event.
        case completedResponses(Int)
        /// So many attempts are over.
        case finishedAttempts(Int)
        /// So many requests to an endpoint of sign-in have arrived, and what they ask for is done.
        case signInRequests(SignIn.Endpoint, Int)
    }
}
