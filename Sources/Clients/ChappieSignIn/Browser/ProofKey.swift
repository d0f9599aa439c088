import ChappieTransport

/// The secrets of one authorization request: the verifier of RFC 7636, and the state of RFC 6749 section 10.12.
struct ProofKey: Sendable {
    /// 86 characters, known only to this process until the code is exchanged (RFC 7636 section 4.1).
    let verifier: String
    /// The digest of the verifier that the server receives (section 4.2, method `S256`).
    let challenge: String
    /// 43 characters, which only the server has received: a callback with them comes from it.
    let state: String

    /// Generates new secrets; throws `secureRandomFailed`.
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
    /// Fixed text, without secrets.
    var description: String { "ProofKey(redacted)" }
    /// No children.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
