package import StreamTransport

extension ChappieTLSPolicy {
    /// The fault of a path, with its name in a configuration; nil when each can be opened, as far as its text tells.
    package var fault: String? {
        if case .file(let path) = self.trust, let fault = TextRule.path(path) {
            return "the path of tls.trust \(fault)"
        }
        guard let certificate = self.clientCertificate else { return nil }
        if let fault = TextRule.path(certificate.certificatePath) {
            return "tls.clientCertificate.certificatePath \(fault)"
        }
        return TextRule.path(certificate.privateKeyPath).map { "tls.clientCertificate.privateKeyPath \($0)" }
    }
}
