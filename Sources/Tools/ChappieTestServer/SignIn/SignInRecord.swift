// The record of a request to the authorization server.
//
// A value.

extension ChappieTestServer {
    /// One request to an endpoint of sign-in; it contains no token, code or verifier.
    package struct SignInRecord: Sendable {
        /// The encoding of parameters.
        package enum Coding: String, Codable, Hashable, Sendable {
            /// In the target's query.
            case query
            /// `application/x-www-form-urlencoded`.
            case form
            /// `application/json`.
            case json
        }

        /// The endpoint.
        package var endpoint: SignIn.Endpoint
        /// The request's number at that endpoint, from 1.
        package var number: Int
        /// The status code; nil without an answer.
        package var status: Int?
        /// The error's code; nil when there is none.
        package var errorCode: String?
        /// The encoding of the parameters; nil when they could not be read.
        package var coding: Coding?
        /// The parameters' names, in order.
        package var parameterNames: [String]
        /// `client_id`, when it was sent.
        package var clientID: String?
        /// The header fields, in order, except those whose values must not be logged.
        package var fields: [Field]
    }
}
