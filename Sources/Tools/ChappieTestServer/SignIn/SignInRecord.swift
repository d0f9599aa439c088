// The record of a request to the authorization server.
//
// A value.

extension ChappieTestServer {
    /// One request to an endpoint of sign-in; it contains no token, code or verifier.
    public struct SignInRecord: Hashable, Sendable {
        /// The encoding of parameters.
        public enum Coding: String, Codable, Hashable, Sendable {
            /// In the target's query.
            case query
            /// `application/x-www-form-urlencoded`.
            case form
            /// `application/json`.
            case json
        }

        /// The endpoint.
        public var endpoint: SignIn.Endpoint
        /// The request's number at that endpoint, from 1.
        public var number: Int
        /// The status code; nil without an answer.
        public var status: Int?
        /// The error's code; nil when there is none.
        public var errorCode: String?
        /// The encoding of the parameters; nil when they could not be read.
        public var coding: Coding?
        /// The parameters' names, in order.
        public var parameterNames: [String]
        /// `client_id`, when it was sent.
        public var clientID: String?
        /// The header fields, in order, except those whose values must not be logged.
        public var fields: [Field]
    }
}
