// What a test server is told about signing in.
//
// Immutable values; nobody owns them.

extension ChappieTestServer {
    /// How the authorization server inside the test server behaves: device code, browser, refresh, revocation.
    ///
    /// Its endpoints are `POST /api/accounts/deviceauth/usercode` and `…/token`, `POST /oauth/device_authorization`
    /// (RFC 8628), `GET /oauth/authorize`, `POST /oauth/token`, `POST /oauth/revoke`, and the person's page
    /// `GET /codex/device`. Refresh tokens rotate, and are good for one use.
    public struct SignIn: Sendable {
        /// One of the endpoints, or one of the things that an endpoint does.
        public enum Endpoint: String, Codable, Hashable, Sendable, CaseIterable {
            /// A device asks for a code, in either way.
            case deviceCode
            /// A device asks whether somebody has agreed, in either way.
            case poll
            /// A browser asks for an authorization code.
            case authorize
            /// A code is exchanged for tokens.
            case exchange
            /// A refresh token is exchanged for the next ones.
            case refresh
            /// A token is revoked.
            case revoke
            /// The usage of an account: `GET …/wham/usage`.
            case usage
        }

        /// What an endpoint answers in place of what it should.
        public enum Answer: Hashable, Sendable {
            /// A status code and a body; nothing is done.
            case refusal(statusCode: Int, body: String)
            /// The connection is closed before anything is answered; nothing is done.
            case dropped
            /// What was asked for is done, and the answer is lost: the connection is closed before it.
            case doneAndDropped
            /// What was asked for is done, and the connection is closed in the middle of the answer.
            case truncated
            /// What was asked for is done; the answer lacks a member, such as `refresh_token`.
            case without(member: String)
            /// 200 with a body of so many bytes that are no JSON; nothing is done.
            case garbage(byteCount: Int)
            /// Nothing, for as long as the client waits.
            case silence
        }

        /// What goes wrong, and when.
        public struct Fault: Hashable, Sendable {
            /// Where it goes wrong.
            public var endpoint: Endpoint
            /// Which requests to that endpoint it is about, counted from 1.
            public var requests: ClosedRange<Int>
            /// What is answered.
            public var answer: Answer

            /// A fault; of every request when none are named.
            public init(_ endpoint: Endpoint, _ answer: Answer, requests: ClosedRange<Int> = 1...Int.max) {
                self.endpoint = endpoint
                self.answer = answer
                self.requests = requests
            }
        }

        /// Who signs in; it is written into the tokens.
        public struct Account: Hashable, Sendable {
            /// `chatgpt_account_id`; nil leaves it out.
            public var accountID: String? = "acc_1"
            /// `chatgpt_plan_type`.
            public var planType = "plus"
            /// `email`.
            public var email = "person@example.com"
            /// `chatgpt_user_id`.
            public var userID = "user_1"
            /// `chatgpt_account_is_fedramp`.
            public var isFedRAMP = false

            /// The defaults above.
            public init() {}
        }

        /// Who signs in.
        public var account = Account()
        /// The clients that are known; nil is any.
        public var clientIDs: [String]?
        /// How many polls find that nobody has agreed yet, before one finds that somebody has.
        ///
        /// Nil: until somebody presses the button on the person's page.
        public var pendingPollCount: Int? = 1
        /// The status code of such a poll, 403 or 404 (RFC 8628's endpoint answers 400).
        public var pendingStatusCode = 403
        /// The seconds between two polls that the server asks for.
        public var pollInterval = 1
        /// Indicates whether the endpoints of RFC 8628 answer `slow_down` to a poll that comes before its time.
        ///
        /// A test whose client's clock runs faster than this server's has to turn it off.
        public var refusesFastPolls = true
        /// The seconds after which a device code expires.
        public var deviceCodeLifetime = 900
        /// Indicates whether a browser is sent back at once, and not asked first.
        public var approvesBrowsers = true
        /// The seconds after which an access token expires.
        public var accessTokenLifetime = 3_600
        /// Indicates whether the endpoints of responses, models and usage take the access tokens of this server alone,
        /// while they are good.
        public var guardsRequests = false
        /// What goes wrong.
        ///
        /// The first that matches a request counts.
        public var faults: [Fault] = []

        /// A server that works.
        public init() {}
    }
}
