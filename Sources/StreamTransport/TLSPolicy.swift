/// How connections are secured, and whom they trust: the same for both transports.
///
/// A value; nobody owns it.
package struct TLSPolicy: Sendable, Hashable {
    /// Which certification authorities are trusted.
    package enum TrustAnchors: Sendable, Hashable {
        /// The system's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
        case system
        /// Those in a PEM file, and no others.
        case file(path: String)
    }

    /// The oldest protocol that is spoken.
    package enum Version: Sendable, Hashable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// What the client shows when a server asks who it is.
    package struct ClientCertificate: Sendable, Hashable {
        /// A PEM file with the certificate, and those between it and its authority.
        package var certificatePath: String
        /// A PEM file with its private key, without a passphrase.
        package var privateKeyPath: String

        /// A certificate with its key.
        package init(certificatePath: String, privateKeyPath: String) {
            self.certificatePath = certificatePath
            self.privateKeyPath = privateKeyPath
        }
    }

    /// Which certification authorities are trusted.
    ///
    /// Default: the system's.
    package var trust: TrustAnchors
    /// SHA-256 digests, 32 bytes each, of keys (`SubjectPublicKeyInfo`, RFC 7469 section 2.4).
    ///
    /// Unless it is empty, which is the default, a chain that was verified must have one of them besides.
    package var pinnedKeys: Set<[UInt8]> = []
    /// What the client shows when a server asks.
    ///
    /// Default nil.
    package var clientCertificate: ClientCertificate?
    /// The oldest protocol that is spoken.
    ///
    /// Default TLS 1.2.
    package var minimumVersion = Version.tls12

    /// A policy with the defaults.
    package init(trust: TrustAnchors = .system) {
        self.trust = trust
    }

    /// The policy for TLS with a proxy: the same authorities and versions.
    ///
    /// Pinned keys and the client's certificate are for the server.
    package var ofProxies: TLSPolicy {
        var policy = TLSPolicy(trust: self.trust)
        policy.minimumVersion = self.minimumVersion
        return policy
    }
}
