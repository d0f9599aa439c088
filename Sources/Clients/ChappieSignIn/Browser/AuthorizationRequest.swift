import ChappieTransport
import PlatformFoundation

/// The authorization request that a browser opens (RFC 6749 section 4.1.1).
struct AuthorizationRequest: Sendable {
    /// The path of the browser's callback.
    static let callbackPath = "/auth/callback"

    /// The authorization server.
    let server: ChappieAuthorizationServer
    /// The client's identifier.
    let clientID: String
    /// The name of the program.
    let originator: String
    /// The port of the callback.
    var port: UInt16

    /// The redirection URI of the callback.
    ///
    /// It has the number and not `localhost`, which may be another interface (RFC 8252 section 8.3).
    var redirectURI: String { "http://127.0.0.1:\(self.port)\(Self.callbackPath)" }

    /// Returns the URL; throws `unknown` when there is no endpoint, or it is neither https nor on this machine.
    func url(_ key: ProofKey) throws(ChappieAuthError) -> URL {
        guard let endpoint = self.server.authorization else {
            throw .unknown("The authorization server has no sign-in in a browser.")
        }
        try AuthorizationClient.check(endpoint)
        let query = self.parameters(key)
            .map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        // RFC 6749 section 3.1: a query of the endpoint is kept; a fragment is not allowed.
        let text = String(endpoint.absoluteString.prefix { $0 != "#" })
        guard let url = URL(string: text + (text.contains("?") ? "&" : "?") + query) else {
            throw .unknown("The authorization server's address for browsers cannot be used.")
        }
        return url
    }

    private func parameters(_ key: ProofKey) -> [(name: String, value: String)] {
        var parameters = [
            (name: "response_type", value: "code"),
            (name: "client_id", value: self.clientID),
            (name: "redirect_uri", value: self.redirectURI),
            (name: "scope", value: self.server.scope),
            (name: "code_challenge", value: key.challenge),
            (name: "code_challenge_method", value: "S256"),
        ]
        parameters += self.server.authorizationParameters.map { (name: $0.name, value: $0.value) }
        parameters.append((name: "state", value: key.state))
        if self.server.takesOriginator { parameters.append((name: "originator", value: self.originator)) }
        return parameters
    }
}
