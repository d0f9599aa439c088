/// The digest of a public key that a server's chain must have (RFC 7469 section 2.4).
///
/// It is SHA-256 of the key's `SubjectPublicKeyInfo`. The command `openssl x509 -in cert.pem -noout -pubkey | openssl
/// pkey -pubin -outform der | openssl dgst -sha256 -binary | base64` prints the one of a certificate.
public struct ChappiePinnedKey: Sendable, Hashable {
    /// The digest's 32 bytes.
    package let digest: [UInt8]

    /// Creates a key from its digest, 32 bytes.
    package init(digest: [UInt8]) {
        self.digest = digest
    }
}
