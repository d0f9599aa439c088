/// The digest of a public key that a server's chain must have (RFC 7469 section 2.4).
///
/// It is SHA-256 of the key's `SubjectPublicKeyInfo`. The command `openssl x509 -in cert.pem -noout -pubkey | openssl
/// pkey -pubin -outform der | openssl dgst -sha256 -binary | base64` prints the one of a certificate.
public struct ChappiePinnedKey: Sendable, Hashable, CustomStringConvertible {
    /// An error of a text that is not the digest of a key.
    public enum ParseError: Error, Sendable, Hashable, CaseIterable {
        /// The algorithm is not SHA-256.
        case unsupportedAlgorithm
        /// The text is not base64 (RFC 4648 section 4).
        case notBase64
        /// The digest does not have 32 bytes.
        case wrongLength

        /// The description of the problem, in a sentence that is fit to show.
        public var errorDescription: String? {
            switch self {
            case .unsupportedAlgorithm: "The pin of a key begins with sha256//, or with nothing at all."
            case .notBase64: "The pin of a key is not base64."
            case .wrongLength: "The pin of a key is not a SHA-256 digest: it has not 32 bytes."
            }
        }
    }

    /// The digest's 32 bytes.
    package let digest: [UInt8]

    /// Parses base64, alone or with the prefix of curl (`sha256//…`) or others (`sha256/…`).
    public init(_ text: String) throws(ParseError) {
        // A digest may begin with a slash too, or look like one of these: the candidate of the right length is used.
        let candidates = ["sha256//", "sha256/", ""].filter { text.hasPrefix($0) }.map { prefix in
            Base64.decoded(text.dropFirst(prefix.count))
        }
        if let digest = candidates.lazy.compactMap(\.self).first(where: { $0.count == 32 }) {
            self.digest = digest
        } else if candidates.count == 1, Self.namesAlgorithm(text) {
            throw .unsupportedAlgorithm
        } else {
            throw candidates[0] == nil ? .notBase64 : .wrongLength
        }
    }

    /// Returns whether a text that is no digest begins with the name of another algorithm, such as `sha1/`.
    private static func namesAlgorithm(_ text: String) -> Bool {
        text.split(separator: "/").first.map { $0.count < 8 && $0.lowercased().hasPrefix("sha") } ?? false
    }

    /// The digest in curl's format.
    public var description: String { "sha256//\(Base64.encoded(self.digest))" }
}
