import CLibwebsocketsShim

/// The result of a TLS handshake with a server, for an examination of the path.
package struct TLSSession: Sendable, Equatable {
    /// The protocol version, such as `TLSv1.3`.
    package let version: String
    /// The application protocol that the server has chosen (RFC 7301), without characters that would move or hide
    /// others; nil without one.
    package let applicationProtocol: String?
    /// The issuer of the server's certificate, as the certificate names it (RFC 4514), at most 256 bytes without
    /// control characters; nil when it names none.
    package let issuer: String?
    /// The certificates that the server has sent, its own first, at most eight; those of the first handshake where a
    /// session was resumed.
    package let certificates: [TLSCertificate]

    init(_ session: clws_session, _ certificates: [TLSCertificate]) {
        self.certificates = certificates
        self.version = session.version.map { String(cString: $0) } ?? "TLS"
        self.applicationProtocol = withUnsafeBytes(of: session.protocol) { Self.text(in: $0) }
        self.issuer = withUnsafeBytes(of: session.issuer) { Self.text(in: $0) }
    }

    private static func text(in bytes: UnsafeRawBufferPointer) -> String? {
        let text = String(printingName: bytes)
        return text.isEmpty ? nil : text
    }
}
