extension ProxyServer {
    /// A user name and a password.
    ///
    /// Its description contains neither.
    package struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
        CustomReflectable
    {
        /// The user name; without a colon for CONNECT (RFC 7617 section 2), at most 255 bytes for SOCKS.
        package let userName: [UInt8]
        /// The password, which may be empty; at most 255 bytes for SOCKS (RFC 1929 section 2).
        package let password: [UInt8]

        /// Creates a credential.
        package init(userName: [UInt8], password: [UInt8]) {
            self.userName = userName
            self.password = password
        }

        /// The value of `Proxy-Authorization` (RFC 7617 section 2).
        package var basicAuthorization: String {
            "Basic " + Base64.encoded(self.userName + [UInt8(ascii: ":")] + self.password)
        }

        /// Fixed text.
        package var description: String { "Credential(redacted)" }
        /// Fixed text.
        package var debugDescription: String { self.description }
        /// No children.
        package var customMirror: Mirror { Mirror(self, children: [:]) }
    }
}
