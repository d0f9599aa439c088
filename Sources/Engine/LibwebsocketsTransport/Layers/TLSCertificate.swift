import CLibwebsocketsShim

/// A certificate that a server has sent, for an examination of the path.
package struct TLSCertificate: Sendable, Equatable {
    /// The subject, as the certificate names it (RFC 4514), at most 256 bytes without control characters; it may be a
    /// machine's name.
    package let subject: String
    /// The issuer, likewise.
    package let issuer: String
    /// The time until the end of its validity by this machine's clock, in whole seconds; negative after it.
    package let timeLeft: Duration
    /// Indicates whether it has an address of its issuer's certificate (RFC 5280 section 4.2.2.1).
    package let locatesIssuer: Bool

    init(_ certificate: clws_certificate) {
        self.subject = withUnsafeBytes(of: certificate.subject) { String(printingName: $0) }
        self.issuer = withUnsafeBytes(of: certificate.issuer) { String(printingName: $0) }
        self.timeLeft = .seconds(certificate.seconds_left)
        self.locatesIssuer = certificate.locates_issuer
    }
}

/// The end of a TLS handshake with a server, for an examination of the path.
package enum TLSOutcome: Sendable, Equatable {
    /// It is complete.
    case secured(TLSSession)
    /// It has failed because of a certificate.
    case rejected(TLSRejection)
    /// It has ended with this alert (RFC 8446 section 6), which the server or this side has sent.
    case alerted(UInt8, isByServer: Bool)
    /// The server has answered it with an HTTP response.
    case answeredInHTTP
    /// The server has answered it with other bytes than those of TLS.
    case notTLS
    /// The server has closed the connection, without an alert.
    case closed
    /// The connection was reset.
    case reset
}

/// The certificates of a handshake that has failed because of one of them, for an examination of the path.
package struct TLSRejection: Sendable, Equatable {
    /// The certificates that the server has sent, its own first, at most eight.
    package let certificates: [TLSCertificate]
    /// The place of the rejected one in its chain; 0 is the server's own, and those behind the sent ones are trust
    /// anchors.
    package let depth: Int
}
