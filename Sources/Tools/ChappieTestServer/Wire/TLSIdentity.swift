// The certificate authority and the certificate that a test server makes for itself.
//
// Owned by the server; connection threads borrow it.
import CTestServerTLS

/// A CA, a leaf certificate, and the TLS context that presents it.
///
/// - Safety: OpenSSL's context may be used by several threads, and no property changes after `init`.
final class TLSIdentity: @unchecked Sendable {
    private let identity: OpaquePointer

    /// The CA certificate as PEM text.
    let caPEM: String
    /// The server's certificate as PEM text.
    let certificatePEM: String
    /// A client's certificate and its key as PEM texts; nil when none is required.
    let client: (certificatePEM: String, keyPEM: String)?

    /// Makes the keys and certificates; throws when OpenSSL refuses.
    init(_ options: ChappieTestServer.TLSOptions) throws(ChappieTestServer.StartError) {
        guard let identity = Self.make(options) else { throw .noCertificate }
        self.identity = identity
        self.caPEM = String(cString: ctts_identity_ca_pem(identity))
        self.certificatePEM = String(cString: ctts_identity_leaf_pem(identity))
        if let certificate = ctts_identity_client_pem(identity), let key = ctts_identity_client_key_pem(identity) {
            self.client = (String(cString: certificate), String(cString: key))
        } else {
            self.client = nil
        }
    }

    private static func make(_ options: ChappieTestServer.TLSOptions) -> OpaquePointer? {
        var wanted = ctts_identity_options()
        wanted.kind = options.certificate.kind
        wanted.intermediate = options.intermediate?.kind ?? CTTS_INTERMEDIATE_NONE
        wanted.version = options.version.map(\.number) ?? 0
        wanted.requires_client_certificate = options.requiresClientCertificate
        return withOptionalCString(options.names?.joined(separator: ",")) { names in
            withOptionalCString(options.commonName) { commonName in
                withOptionalCString(options.issuerName) { issuerName in
                    wanted.names = names
                    wanted.common_name = commonName
                    wanted.ca_name = issuerName
                    return ctts_identity_create(&wanted)
                }
            }
        }
    }

    deinit { ctts_identity_free(self.identity) }

    /// Lets connections from now on have `ClientTLS.helloDigest`; called before the first one.
    func noteHellos() { ctts_identity_note_hellos(self.identity) }

    /// Performs a handshake on a connected socket; nil when it fails.
    ///
    /// The caller frees the connection.
    func accept(_ descriptor: CInt) -> OpaquePointer? { ctts_accept(self.identity, descriptor) }
}

/// The facts of a client's TLS, as far as the server's library tells them.
struct ClientTLS: Equatable {
    /// The version, such as `TLSv1.3`.
    var version: String
    /// IANA's name of the cipher suite; nil when it is not known.
    var cipherSuite: String?
    /// A digest of the client's hello, which is the same for the same program and library; nil when it was not noted.
    var helloDigest: UInt64?
}

private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}

extension ChappieTestServer.TLSOptions.Certificate {
    fileprivate var kind: ctts_certificate_kind {
        switch self {
        case .valid: CTTS_CERTIFICATE_VALID
        case .expired: CTTS_CERTIFICATE_EXPIRED
        case .wrongName: CTTS_CERTIFICATE_WRONG_NAME
        case .notYetValid: CTTS_CERTIFICATE_NOT_YET_VALID
        case .selfSigned: CTTS_CERTIFICATE_SELF_SIGNED
        }
    }
}

extension ChappieTestServer.TLSOptions.Intermediate {
    fileprivate var kind: ctts_intermediate_kind {
        switch self {
        case .sent: CTTS_INTERMEDIATE_SENT
        case .missing: CTTS_INTERMEDIATE_MISSING
        case .expired: CTTS_INTERMEDIATE_EXPIRED
        }
    }
}

extension ChappieTestServer.TLSOptions.Version {
    /// The number of the version in TLS.
    fileprivate var number: CInt {
        switch self {
        case .tls11: 0x0302
        case .tls12: 0x0303
        case .tls13: 0x0304
        }
    }
}
