/// A part of a configuration that another module adds, and that supplies credentials.
///
/// Only `ChappieSignIn` implements it, so that a program with a key does not link that module.
package protocol CredentialProvider: Sendable {
    /// Returns the source of credentials for a client of a configuration; nil when the configuration uses no account.
    func credentialSource(
        for configuration: ChappieConfiguration
    ) -> ChappieTransportConfiguration.CredentialSource?
}
