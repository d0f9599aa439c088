import StreamTransport

/// How connections are secured, and whom they trust: the same over WebSockets and HTTP.
public struct ChappieTLSPolicy: Sendable, Hashable {
    /// Which certification authorities are trusted.
    public enum Trust: Sendable, Hashable {
        /// The system's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
        case system
        /// Those in a PEM file, and no others.
        case file(path: String)
    }

    /// Which certification authorities are trusted.
    ///
    /// Default: the system's.
    public var trust = Trust.system

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
    }
}
