import StreamTransport

/// How connections are secured, and whom they trust: the same over WebSockets and HTTP.
///
/// A certificate has to be valid, to come from a trusted authority, and to have the host of the address among its
/// subject alternative names (RFC 9525): names with wildcards for their first label, IP addresses for addresses. Common
/// names do not count.
///
/// An `https` proxy (``ChappieProxyPolicy``) is secured by the same `trust` and `minimumVersion`. Pinned keys and the
/// client's certificate are for the server alone.
public struct ChappieTLSPolicy: Sendable, Hashable {
    /// Which certification authorities are trusted.
    public enum Trust: Sendable, Hashable {
        /// The system's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
        case system
        /// Those in a PEM file, and no others.
        ///
        /// It is read with the first connection. A certificate in it is trusted whether it is a root or not.
        case file(path: String)
    }

    /// The oldest protocol that is spoken.
    public enum Version: Sendable, Hashable, CaseIterable {
        /// TLS 1.2 (RFC 5246).
        case tls12
        /// TLS 1.3 (RFC 8446).
        case tls13
    }

    /// What the client shows when a server asks who it is.
    public struct ClientCertificate: Sendable, Hashable {
        /// A PEM file with the certificate, and those between it and its authority.
        public var certificatePath: String
        /// A PEM file with its private key, without a passphrase: nobody is there to be asked for one.
        public var privateKeyPath: String

        /// A certificate with its key.
        public init(certificatePath: String, privateKeyPath: String) {
            self.certificatePath = certificatePath
            self.privateKeyPath = privateKeyPath
        }
    }

    /// Which certification authorities are trusted.
    ///
    /// Default: the system's.
    public var trust = Trust.system
    /// Keys of which one must be in the server's chain, once that is verified; empty for no such demand.
    ///
    /// Default: empty. The server's own key, an authority's between, or the root's: with several, one is enough.
    public var pinnedKeys: Set<ChappiePinnedKey> = []
    /// What the client shows when a server asks.
    ///
    /// Default nil.
    public var clientCertificate: ClientCertificate?
    /// The oldest protocol that is spoken.
    ///
    /// Default TLS 1.2.
    public var minimumVersion = Version.tls12

    /// The defaults.
    public init() {}
}

extension TLSPolicy {
    /// What the configuration says about TLS.
    init(_ policy: ChappieTLSPolicy) {
        let trust: TrustAnchors =
            switch policy.trust {
            case .system: .system
            case .file(let path): .file(path: path)
            }
        self.init(trust: trust)
        self.pinnedKeys = Set(policy.pinnedKeys.map(\.digest))
        self.clientCertificate = policy.clientCertificate.map {
            ClientCertificate(certificatePath: $0.certificatePath, privateKeyPath: $0.privateKeyPath)
        }
        self.minimumVersion =
            switch policy.minimumVersion {
            case .tls12: .tls12
            case .tls13: .tls13
            }
    }
}
