// `ProcessInfo`.
import Foundation
import PlatformFoundation

extension ChappieConfiguration {
    /// The engine's configuration, with what the endpoint determines.
    package var engine: ChappieTransportConfiguration {
        var engine = self.transport
        engine.baseURL = self.endpoint.baseURL
        engine.dialect = self.endpoint.dialect
        engine.credential = self.endpoint.checked(self.credential ?? self.credentialByDefault)
        if !self.endpoint.supportsWebSocket { engine.policy = engine.policy.withoutWebSocket }
        engine.usesLanes = self.usesLanes && self.endpoint.supportsLanes
        engine.sendsClientMetadata = self.endpoint.sendsClientMetadata
        engine.sendsBetaField = self.endpoint.sendsBetaField
        engine.webSocketPath = self.endpoint.webSocketPath
        engine.webSocketSubprotocol = self.endpoint.webSocketSubprotocol
        engine.credentialFieldName = self.endpoint.credentialFieldName
        engine.additionalFields = self.fields
        return engine
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

    /// The caller's fields, which replace the endpoint's, and the rest of those.
    private var fields: [(name: String, value: String)] {
        let own = Set(self.additionalFields.map { $0.name.lowercased() })
        let others = self.endpoint.additionalFields.filter { !own.contains($0.name.lowercased()) }
        return self.additionalFields + others.map { ($0.name, $0.value) }
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
