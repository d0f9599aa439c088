/// The certificates that a server has sent.
///
/// A value without an owner.
package struct CertificateChain: Sendable, Equatable {
    /// One certificate.
    package struct Certificate: Sendable, Equatable {
        /// The subject (RFC 4514), which may be a machine's name.
        package var subject: String
        /// The issuer, likewise.
        package var issuer: String
        /// The time until the end of its validity; negative after it.
        package var timeLeft: Duration
        /// Indicates whether it has an address of its issuer's certificate (RFC 5280 section 4.2.2.1).
        package var locatesIssuer: Bool

        /// Creates a certificate.
        package init(subject: String, issuer: String, timeLeft: Duration, locatesIssuer: Bool = false) {
            self.subject = subject
            self.issuer = issuer
            self.timeLeft = timeLeft
            self.locatesIssuer = locatesIssuer
        }
    }

    /// The certificates, the server's own first.
    package var sent: [Certificate]
    /// The place of the rejected one, 0 for the server's own; nil when none was rejected.
    ///
    /// The certificates behind those that were sent are this machine's.
    package var rejectedDepth: Int?

    /// Creates a chain.
    package init(_ sent: [Certificate], rejectedDepth: Int? = nil) {
        self.sent = sent
        self.rejectedDepth = rejectedDepth
    }

    /// Indicates whether the certificate that the server's own was signed with is missing.
    ///
    /// Where an authority signs the certificates of servers without an intermediate one, only its own is absent, which
    /// servers seldom send. Such an authority is private. Its certificates seldom have an address of the issuer's;
    /// where they have one, and its name is not that of a root, nothing in them tells it from an intermediate
    /// authority.
    var lacksIntermediate: Bool { self.lacksIssuer && !self.isSignedByRoot }

    /// Indicates whether an authority with the name of a root has signed the server's own certificate, which is absent.
    ///
    /// Public roots sign the certificates of authorities alone.
    var isSignedByRoot: Bool {
        guard self.lacksIssuer, let issuer = self.sent.first?.issuer.lowercased() else { return false }
        let words = issuer.split { !$0.isLetter && !$0.isNumber }
        return words.contains("root") && !words.contains("intermediate") && !words.contains("issuing")
    }

    /// Indicates whether the server's own certificate has an address of its issuer's, which was not sent.
    private var lacksIssuer: Bool {
        guard let own = self.sent.first, own.subject != own.issuer, own.locatesIssuer else { return false }
        return !self.sent.dropFirst().contains { $0.subject == own.issuer }
    }

    /// Indicates whether the certificate of an authority, and not the server's own, was rejected.
    var rejectsAuthority: Bool { self.rejectedDepth.map { $0 > 0 } ?? false }

    /// The first issuer of a certificate with the shape of a device's that inspects TLS; nil without one.
    var inspector: String? { self.sent.lazy.map(\.issuer).first { InspectionAuthority.hasShape($0) } }

    // MARK: Words

    private var count: String { self.sent.count == 1 ? "1 certificate" : "\(self.sent.count) certificates" }

    /// The number of the certificates and the validity of the server's own; empty without any.
    var words: [String] {
        guard let own = self.sent.first else { return [] }
        let missing = self.lacksIntermediate ? ["its issuer's is not sent"] : []
        return ["\(self.count), the server's \(own.validity)"] + missing
    }

    /// The evidence that the intermediate certificate is missing.
    var wordsOfAbsence: String { "the server sent \(self.count), and none of that issuer" }

    /// The place of the rejected certificate; nil when none was rejected.
    var wordsOfRejection: String? {
        guard let depth = self.rejectedDepth else { return nil }
        guard depth < self.sent.count else { return "it is an authority's that this machine trusts" }
        return "it is number \(depth + 1) of the \(self.count) that the server sent"
    }

    /// A line for each certificate, with names, for a person that helps.
    var fullWords: [String] {
        self.sent.enumerated().map { index, certificate in
            "certificate \(index + 1): \(certificate.subject), issued by \(certificate.issuer), \(certificate.validity)"
        }
    }
}

extension CertificateChain.Certificate {
    /// The end of the validity in words.
    fileprivate var validity: String {
        self.timeLeft < .zero ? "expired \((.zero - self.timeLeft).words) ago" : "valid for \(self.timeLeft.words)"
    }
}
