/// The TLS settings of connections, the trusted authorities among them, for both transports.
///
/// An immutable value.
package struct TLSPolicy: Sendable, Hashable {
    /// The certification authorities that are trusted.
    package enum TrustAnchors: Sendable, Hashable {
        /// The system's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
        case system
        /// The certificates of a PEM file, and no others.
        case file(path: String)
    }

    /// The lowest protocol version.
    package enum Version: Sendable, Hashable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// The certificate that the client presents when a server requests one.
    package struct ClientCertificate: Sendable, Hashable {
        /// A PEM file with the certificate and its intermediate certificates.
        package var certificatePath: String
        /// A PEM file with its private key, without a passphrase.
        package var privateKeyPath: String

        /// Creates a certificate with its key.
        package init(certificatePath: String, privateKeyPath: String) {
            self.certificatePath = certificatePath
            self.privateKeyPath = privateKeyPath
        }
    }

    /// The certification authorities that are trusted.
    ///
    /// Default: the system's.
    package var trust: TrustAnchors
    /// SHA-256 digests, 32 bytes each, of keys (`SubjectPublicKeyInfo`, RFC 7469 section 2.4).
    ///
    /// Unless it is empty, which is the default, a verified chain must also contain one of these keys.
    package var pinnedKeys: Set<[UInt8]> = []
    /// The client certificate; nil for none.
    ///
    /// Default nil.
    package var clientCertificate: ClientCertificate?
    /// The lowest protocol version.
    ///
    /// Default TLS 1.2.
    package var minimumVersion = Version.tls12

    /// Creates a policy with the defaults.
    package init(trust: TrustAnchors = .system) {
        self.trust = trust
    }

    /// The policy for TLS with a proxy: the same authorities and versions.
    ///
    /// Pinned keys and the client's certificate apply to the server only.
    package var ofProxies: TLSPolicy {
        var policy = TLSPolicy(trust: self.trust)
        policy.minimumVersion = self.minimumVersion
        return policy
    }
}
