import StreamTransport
import TransportSurface

// The texts of a configuration and a credential that cannot be sent, as faults without any part of a value, which may
// be a secret. The transport refuses them as well, but does not know where they come from.

extension ChappieTransportConfiguration {
    /// The fault of a property, with its name; nil when requests can be sent.
    var fault: String? {
        TransportEndpoint.fault(ofBaseURL: self.baseURL) ?? self.faultOfFields ?? self.faultOfWebSocket
            ?? self.tls.fault
    }

    private var faultOfWebSocket: String? {
        if let fault = self.webSocketPath.flatMap(TextRule.target) { return "webSocketPath \(fault)" }
        return self.webSocketSubprotocol.flatMap(TextRule.token).map { "webSocketSubprotocol \($0)" }
    }

    private var faultOfFields: String? {
        if let fault = TextRule.fields(self.additionalFields, named: "additionalFields") { return fault }
        return self.credentialFieldName.flatMap(TextRule.fieldName).map { "credentialFieldName \($0)" }
    }
}

extension ChappieCredential {
    /// The fault of a property, with its name; nil when the credential can be sent.
    package var fault: String? {
        if let fault = TextRule.fieldValue(self.bearerToken) { return "the credential's bearerToken \(fault)" }
        return self.accountID.flatMap(TextRule.fieldValue).map { "the credential's accountID \($0)" }
    }
}
