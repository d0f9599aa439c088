/// The security of connections, and the authorities that they trust: the same for WebSockets and HTTP.
///
/// A certificate has to be valid, to come from a trusted authority, and to have the host of the address among its
/// subject alternative names (RFC 9525): names with wildcards for their first label, IP addresses for addresses. Common
/// names do not count.
///
/// An `https` proxy (``ChappieProxyPolicy``) is secured by the same `trust` and `minimumVersion`. Pinned keys and the
/// client's certificate are for the server alone.
public struct ChappieTLSPolicy: Sendable, Hashable {
    /// The trusted certification authorities.
    public enum Trust: Sendable, Hashable {
        /// The system's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
        case system
        /// Only those in a PEM file.
        ///
        /// The file is read with the first connection. A certificate in it is trusted, as a root or not.
        case file(path: String)
    }

    /// The minimum protocol version.
    public enum Version: Sendable, Hashable, CaseIterable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// The certificate with which the client authenticates when a server asks for one.
    public struct ClientCertificate: Sendable, Hashable {
        /// A PEM file with the certificate, and those between it and its authority.
        public var certificatePath: String
        /// A PEM file with its private key, without a passphrase, which could not be asked for.
        public var privateKeyPath: String

        /// Creates a value from the paths of a certificate and its key.
        public init(certificatePath: String, privateKeyPath: String) {
            self.certificatePath = certificatePath
            self.privateKeyPath = privateKeyPath
        }
    }

    /// The trusted certification authorities.
    ///
    /// Default: the system's.
    public var trust: Trust
    /// The keys of which one must be in the server's chain, once that is verified; empty for no requirement.
    ///
    /// Default: empty. A key may be the server's own, an intermediate authority's, or the root's: with several, one is
    /// enough.
    public var pinnedKeys: Set<ChappiePinnedKey> = []
    /// The certificate with which the client authenticates when a server asks for one.
    ///
    /// Default nil.
    public var clientCertificate: ClientCertificate?
    /// The minimum protocol version.
    ///
    /// Default TLS 1.2.
    public var minimumVersion = Version.tls12

    /// Creates a policy with the given authorities, and the defaults otherwise.
    public init(trust: Trust = .system) {
        self.trust = trust
    }

    /// The policy for TLS with a proxy: the same authorities and versions.
    ///
    /// Pinned keys and the client's certificate apply to the server only.
    package var ofProxies: Self {
        var policy = Self(trust: self.trust)
        policy.minimumVersion = self.minimumVersion
        return policy
    }
}
