#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The digest of a public key that a server's chain must have (RFC 7469 section 2.4).
///
/// It is SHA-256 of the key's `SubjectPublicKeyInfo`. The command
/// `openssl x509 -in cert.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`
/// prints the one of a certificate.
public struct ChappiePinnedKey: Sendable, Hashable, CustomStringConvertible {
    /// A text is no digest of a key.
    public enum ParseError: Error, Sendable, Hashable, CaseIterable, LocalizedError {
        /// The algorithm is not SHA-256.
        case unsupportedAlgorithm
        /// What should be base64 (RFC 4648 section 4) is not.
        case notBase64
        /// The digest has not 32 bytes.
        case wrongLength

        /// What is wrong, in a sentence that is fit to show.
        public var errorDescription: String? {
            switch self {
            case .unsupportedAlgorithm: "The pin of a key begins with sha256//, or with nothing at all."
            case .notBase64: "The pin of a key is not base64."
            case .wrongLength: "The pin of a key is not a SHA-256 digest: it has not 32 bytes."
            }
        }
    }

    /// 32 bytes.
    let digest: [UInt8]

    /// Reads base64, by itself or as curl (`sha256//…`) and others (`sha256/…`) write it.
    public init(_ text: String) throws(ParseError) {
        let prefix = ["sha256//", "sha256/"].first { text.hasPrefix($0) } ?? ""
        let encoded = String(text.dropFirst(prefix.count))
        guard let data = Data(base64Encoded: encoded), data.base64EncodedString() == encoded else {
            throw prefix.isEmpty && Self.namesAlgorithm(text) ? .unsupportedAlgorithm : .notBase64
        }
        guard data.count == 32 else {
            throw prefix.isEmpty && Self.namesAlgorithm(text) ? .unsupportedAlgorithm : .wrongLength
        }
        self.digest = Array(data)
    }

    /// Whether a text that is no digest begins with the name of another one, such as `sha1/`.
    private static func namesAlgorithm(_ text: String) -> Bool {
        text.split(separator: "/").first.map { $0.count < 8 && $0.lowercased().hasPrefix("sha") } ?? false
    }

    /// The digest as curl writes it.
    public var description: String { "sha256//\(Data(self.digest).base64EncodedString())" }
}
