import StreamTransport

// The texts of a configuration and a credential that cannot be sent, as faults without any part of a value, which may
// be a secret. The transport refuses them as well, but does not know where they come from.

extension ChappieTransportConfiguration {
    /// The fault of a property, with its name; nil when requests can be sent.
    var fault: String? { TransportEndpoint.fault(ofBaseURL: self.baseURL) ?? self.faultOfFields ?? self.tls.fault }

    private var faultOfFields: String? {
        for (index, field) in self.additionalFields.enumerated() {
            if let fault = TextRule.fieldName(field.name) { return "the name of additionalFields[\(index)] \(fault)" }
            if let fault = TextRule.fieldValue(field.value) {
                return "the value of additionalFields[\(index)] \(fault)"
            }
        }
        return self.credentialFieldName.flatMap(TextRule.fieldName).map { "credentialFieldName \($0)" }
    }
}

extension ChappieTLSPolicy {
    fileprivate var fault: String? {
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

extension ChappieCredential {
    /// The fault of a property, with its name; nil when the credential can be sent.
    var fault: String? {
        if let fault = TextRule.fieldValue(self.bearerToken) { return "the credential's bearerToken \(fault)" }
        return self.accountID.flatMap(TextRule.fieldValue).map { "the credential's accountID \($0)" }
    }
}
