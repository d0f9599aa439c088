// `ProcessInfo` is in the one on Linux and in the other on Darwin.
import Foundation

#if canImport(FoundationEssentials)
    import FoundationEssentials
#endif

extension ChappieConfiguration {
    /// The engine's configuration.
    var transport: ChappieTransportConfiguration {
        var transport = ChappieTransportConfiguration(
            baseURL: self.endpoint.baseURL,
            credential: self.endpoint.checked(self.credential ?? self.credentialByDefault))
        transport.policy = self.endpoint.supportsWebSocket ? self.streamingTransportPolicy : .httpSSEOnly
        transport.usesLanes = self.usesLanes && self.endpoint.supportsLanes
        transport.sendsClientMetadata = self.endpoint.sendsClientMetadata
        transport.sendsBetaField = self.endpoint.sendsBetaField
        transport.credentialFieldName = self.endpoint.credentialFieldName
        transport.additionalFields = self.fields
        transport.rateLimitBackoff = self.rateLimitBackoff
        transport.circuitBreaker = self.circuitBreaker
        transport.timeouts = self.timeouts
        transport.limits = self.transportLimits
        transport.maxHTTPRetries = self.maxHTTPRetries
        transport.reconnectDelay = self.reconnectDelay
        transport.tls = self.tls
        transport.proxy = self.proxy
        transport.offersCompression = self.offersCompression
        transport.webSocketCompression = self.webSocketCompression
        transport.serviceThreadCount = self.serviceThreadCount
        transport.rawEvents = self.rawEvents
        transport.reportsDiagnostics = self.reportsDiagnostics
        transport.log = self.log
        transport.metrics = self.metrics
        transport.willSend = self.willSend
        return transport
    }

    /// The default source: the environment's key, read each time, or what the provider supplies.
    private var credentialByDefault: ChappieTransportConfiguration.CredentialSource {
        let endpoint = self.endpoint
        let provided = self.credentialProvider?.credentialSource(for: self)
        return { request in
            if let key = endpoint.credential(in: ProcessInfo.processInfo.environment) { return key }
            return try await provided?(request)
        }
    }

    /// The caller's fields replace the endpoint's.
    private var fields: [(name: String, value: String)] {
        let own = Set(self.additionalFields.map { $0.name.lowercased() })
        let others = self.endpoint.additionalFields.filter { !own.contains($0.name.lowercased()) }
        return (others + self.additionalFields).map { ($0.name, $0.value) }
    }
}

extension ChappieEndpoint {
    /// Returns the source of credentials, with the endpoint's requirements on them.
    fileprivate func checked(
        _ source: @escaping ChappieTransportConfiguration.CredentialSource
    ) -> ChappieTransportConfiguration.CredentialSource {
        let (requiresCredential, requiresAccountID) = (self.requiresCredential, self.requiresAccountID)
        return { request in
            guard let credential = try await source(request) else {
                if requiresCredential { throw ChappieClientError.missingCredential }
                return nil
            }
            if requiresAccountID, credential.accountID == nil { throw ChappieClientError.missingAccountID }
            return credential
        }
    }

    /// Returns the credential that an environment holds for the endpoint.
    func credential(in environment: [String: String]) -> ChappieCredential? {
        guard let variable = self.apiKeyVariable, let key = environment[variable], !key.isEmpty else { return nil }
        return ChappieCredential(bearerToken: key)
    }
}
