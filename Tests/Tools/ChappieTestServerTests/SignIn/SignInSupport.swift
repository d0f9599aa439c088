// Fixtures of the sign-in tests: requests over a raw socket, and the steps that lead to tokens.
import Testing

@testable import ChappieTestServer

/// An answer, read whole.
struct SignInReply {
    var status: Int
    var fields: [String: String]
    var body: [UInt8]

    var text: String { String(decoding: self.body, as: UTF8.self) }
    var json: JSONValue? { JSONValue(self.body) }

    subscript(_ name: String) -> String? { self.json?[name]?.string }

    /// The error's code, in either of its two forms.
    var errorCode: String? { self["error"] ?? self.json?["error"]?["code"]?.string }

    /// A parameter of the redirection.
    func redirectParameter(_ name: String) -> String? {
        let query = (self.fields["location"] ?? "").drop { $0 != "?" }.dropFirst()
        return query.split(separator: "&").first { $0.hasPrefix(name + "=") }.map {
            String($0.dropFirst(name.count + 1))
        }
    }
}

/// Runs a test of sign-in with a server and stops it.
func withSignIn<Result>(
    _ configure: (inout ChappieTestServer.SignIn) -> Void = { _ in }, _ body: (ChappieTestServer) throws -> Result
) throws -> Result {
    try withServer({ configure(&$0.signIn) }, body)
}

/// The client's name in the tests.
let exampleClient = "client-1"

/// The example of RFC 7636 appendix B.
let exampleVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
let exampleChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

extension ChappieTestServer {
    private func reply(_ send: (RawClient) throws -> Void) throws -> SignInReply {
        let client = try RawClient(port: self.port)
        try send(client)
        let head = try client.readHead()
        return SignInReply(status: head.status, fields: head.fields, body: try client.readBody(head))
    }

    /// Sends a GET.
    func get(_ target: String, fields: [String] = []) throws -> SignInReply {
        let extra = fields.map { $0 + "\r\n" }.joined()
        return try self.reply { try $0.send("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(self.port)\r\n\(extra)\r\n") }
    }

    /// Posts JSON.
    func postJSON(_ path: String, _ pairs: KeyValuePairs<String, String>) throws -> SignInReply {
        let members = pairs.map { JSONValue.Member(name: $0.key, value: .string($0.value)) }
        return try self.reply { try $0.post(JSONValue.object(members).text, path: path) }
    }

    /// Posts a form.
    func postForm(_ path: String, _ pairs: KeyValuePairs<String, String>) throws -> SignInReply {
        try self.post(path, type: "application/x-www-form-urlencoded", formText(pairs))
    }

    /// Posts any body.
    func post(_ path: String, type: String, _ body: String) throws -> SignInReply {
        try self.reply {
            try $0.send(
                "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(self.port)\r\nContent-Type: \(type)\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
    }

    // MARK: Steps

    /// Exchanges a code of a browser's sign-in.
    func exchange(
        _ code: String, clientID: String = exampleClient, redirectURI: String = "http://127.0.0.1:9/auth/callback",
        verifier: String = exampleVerifier
    ) throws -> SignInReply {
        try self.postForm(
            "/oauth/token",
            [
                "grant_type": "authorization_code", "client_id": clientID, "code": code, "redirect_uri": redirectURI,
                "code_verifier": verifier,
            ])
    }

    /// Refreshes with JSON.
    func refresh(_ token: String, clientID: String = exampleClient) throws -> SignInReply {
        try self.postJSON(
            "/oauth/token", ["client_id": clientID, "grant_type": "refresh_token", "refresh_token": token])
    }

    /// Asks for a browser's code, with some parameters in place of the right ones.
    func authorize(_ changes: [String: String?] = [:]) throws -> SignInReply {
        var parameters: [String: String?] = [
            "response_type": "code", "client_id": exampleClient, "redirect_uri": "http://127.0.0.1:9/auth/callback",
            "code_challenge": exampleChallenge, "code_challenge_method": "S256", "state": "state 1/+",
        ]
        parameters.merge(changes) { $1 }
        let query = parameters.sorted { $0.key < $1.key }.compactMap { entry in
            entry.value.map { "\(entry.key)=\(SignInRequest.escaped($0))" }
        }
        return try self.get("/oauth/authorize?" + query.joined(separator: "&"))
    }
}

private func formText(_ pairs: KeyValuePairs<String, String>) -> String {
    pairs.map { "\($0.key)=\(SignInRequest.escaped($0.value))" }.joined(separator: "&")
}

/// Returns the claims of a JWT.
func claims(of token: String) -> JSONValue? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts.contains("") else { return nil }
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var bits = 0
    var bitCount = 0
    var bytes: [UInt8] = []
    for character in parts[1] {
        guard let value = alphabet.firstIndex(of: character) else { return nil }
        bits = (bits << 6 | value) & 0xFFFF
        bitCount += 6
        if bitCount >= 8 {
            bitCount -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
        }
    }
    return JSONValue(bytes)
}
