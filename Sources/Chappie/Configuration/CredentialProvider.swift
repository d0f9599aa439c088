/// A part of a configuration that another module adds, and that supplies credentials.
///
/// `ChappieSignIn` has the only one: a program that uses a key does not link accounts.
package protocol CredentialProvider: Sendable {
    /// Returns the source of credentials for a client of a configuration; nil where the part does not concern it.
    func credentialSource(
        for configuration: ChappieConfiguration
    ) -> ChappieTransportConfiguration.CredentialSource?
}
