// The certificate authority and the certificate that a test server makes for itself.
//
// Owned by the server; connection threads borrow it.
import CTestServerTLS

/// A CA, a leaf certificate, and the TLS context that presents it.
///
/// - Safety: OpenSSL's context is made for use by several threads, and nothing here changes after `init`.
final class TLSIdentity: @unchecked Sendable {
    private let identity: OpaquePointer

    /// The CA certificate as PEM text.
    let caPEM: String

    /// Makes the keys and certificates; nil when OpenSSL refuses.
    init?(_ options: ChappieTestServer.TLSOptions) {
        let kind: ctts_certificate_kind
        switch options.certificate {
        case .valid: kind = CTTS_CERTIFICATE_VALID
        case .expired: kind = CTTS_CERTIFICATE_EXPIRED
        case .wrongName: kind = CTTS_CERTIFICATE_WRONG_NAME
        }
        guard let identity = ctts_identity_create(kind) else { return nil }
        self.identity = identity
        self.caPEM = String(cString: ctts_identity_ca_pem(identity))
    }

    deinit { ctts_identity_free(self.identity) }

    /// Performs a handshake on a connected socket; nil when it fails.
    ///
    /// The caller frees the connection.
    func accept(_ descriptor: CInt) -> OpaquePointer? { ctts_accept(self.identity, descriptor) }
}
