import ChappieTransport

/// The secrets of one authorization request: the verifier of RFC 7636, and the state of RFC 6749 section 10.12.
struct ProofKey: Sendable {
    /// 86 characters, known to nobody but this process until the code is exchanged (RFC 7636 section 4.1).
    let verifier: String
    /// What the server is shown of it (section 4.2, method `S256`).
    let challenge: String
    /// 43 characters, which only the server has seen: whoever comes back with them comes from there.
    let state: String

    /// New secrets; throws `secureRandomFailed`.
    init(_ random: SecureRandom) throws(ChappieAuthError) {
        self.verifier = CodeChallenge.base64url(try random.bytes(64))
        self.state = CodeChallenge.base64url(try random.bytes(32))
        guard let challenge = CodeChallenge.s256(self.verifier) else {
            throw .unknown("The library that secures connections has no SHA-256.")
        }
        self.challenge = challenge
    }
}

extension ProofKey: CustomStringConvertible, CustomReflectable {
    /// Never a secret.
    var description: String { "ProofKey(redacted)" }
    /// Never a secret.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
