// The configuration of a test server's sign-ins.
//
// Immutable values without an owner.

extension ChappieTestServer {
    /// The behaviour of the authorization server inside the test server: device code, browser, refresh, revocation.
    ///
    /// Its endpoints are `POST /api/accounts/deviceauth/usercode` and `…/token`, `POST /oauth/device_authorization`
    /// (RFC 8628), `GET /oauth/authorize`, `POST /oauth/token`, `POST /oauth/revoke`, and the person's page
    /// `GET /codex/device`. Refresh tokens rotate, and are valid for one use.
    public struct SignIn: Sendable {
        /// An endpoint, or an operation of an endpoint.
        package enum Endpoint: String, Codable, Hashable, Sendable, CaseIterable {
            /// A device's request for a code, in either flow.
            case deviceCode
            /// A device's poll, in either flow.
            case poll
            /// A browser's request for an authorization code.
            case authorize
            /// The exchange of a code for tokens.
            case exchange
            /// The exchange of a refresh token for new tokens.
            case refresh
            /// The revocation of a token.
            case revoke
            /// The usage of an account: `GET …/wham/usage`.
            case usage
        }

        /// The faulty answer of an endpoint.
        package enum Answer: Hashable, Sendable {
            /// A status code and a body; the operation is not performed.
            case refusal(statusCode: Int, body: String)
            /// The connection is closed before an answer; the operation is not performed.
            case dropped
            /// The operation is performed, and the answer is lost: the connection is closed before it.
            case doneAndDropped
            /// The operation is performed, and the connection is closed in the middle of the answer.
            case truncated
            /// The operation is performed; the answer lacks a member, such as `refresh_token`.
            case without(member: String)
            /// 200 with a body of this number of bytes that is not JSON; the operation is not performed.
            case garbage(byteCount: Int)
            /// No answer, for as long as the client waits.
            case silence
        }

        /// A fault, and the requests that it applies to.
        package struct Fault: Hashable, Sendable {
            /// The endpoint at fault.
            package var endpoint: Endpoint
            /// The requests to that endpoint that it applies to, counted from 1.
            package var requests: ClosedRange<Int>
            /// The faulty answer.
            package var answer: Answer

            /// Creates a fault; of every request when none are named.
            package init(_ endpoint: Endpoint, _ answer: Answer, requests: ClosedRange<Int> = 1...Int.max) {
                self.endpoint = endpoint
                self.answer = answer
                self.requests = requests
            }
        }

        /// The account that signs in; it is written into the tokens.
        package struct Account: Hashable, Sendable {
            /// `chatgpt_account_id`; nil leaves it out.
            package var accountID: String? = "acc_1"
            /// `chatgpt_plan_type`.
            package var planType = "plus"
            /// `email`.
            package var email = "person@example.com"
            /// `chatgpt_user_id`.
            package var userID = "user_1"
            /// `chatgpt_account_is_fedramp`.
            package var isFedRAMP = false

            /// Creates the account above.
            package init() {}
        }

        /// The account that signs in.
        package var account = Account()
        /// The known clients; nil is any.
        package var clientIDs: [String]?
        /// The number of polls before the user's agreement.
        ///
        /// With nil, polls are pending until the button on the user's page is pressed.
        public var pendingPollCount: Int? = 1
        /// The status code of such a poll, 403 or 404 (RFC 8628's endpoint answers 400).
        package var pendingStatusCode = 403
        /// The interval between two polls that the server asks for, in seconds.
        package var pollInterval = 1
        /// Indicates whether the endpoints of RFC 8628 answer `slow_down` to a poll that comes too early.
        ///
        /// A test whose client's clock runs faster than this server's has to turn it off.
        package var refusesFastPolls = true
        /// The seconds after which a device code expires.
        package var deviceCodeLifetime = 900
        /// Indicates whether a browser is redirected at once, without a question.
        package var approvesBrowsers = true
        /// The seconds after which an access token expires.
        package var accessTokenLifetime = 3_600
        /// Indicates whether the endpoints of responses, models and usage accept only valid access tokens of this
        /// server.
        public var guardsRequests = false
        /// The faults.
        ///
        /// The first that matches a request is used.
        package var faults: [Fault] = []

        /// Creates a server without faults.
        package init() {}
    }
}
