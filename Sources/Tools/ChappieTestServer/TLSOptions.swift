// The TLS options of a test server.
//
// Immutable values without an owner.

extension ChappieTestServer {
    /// The TLS options of a test server.
    public struct TLSOptions: Sendable {
        /// The validity of the certificate for a client that trusts `ChappieTestServer.caPEM`.
        package enum Certificate: String, Codable, Hashable, Sendable, CaseIterable {
            /// Valid for localhost, 127.0.0.1 and ::1.
            case valid
            /// The right names, but expired.
            case expired
            /// Valid for another name only.
            case wrongName
            /// The right names, but valid from tomorrow on.
            case notYetValid
            /// The right names, but self-signed.
            case selfSigned
        }

        /// An authority between the CA and the certificate.
        package enum Intermediate: Hashable, Sendable {
            /// Valid, and presented with the certificate.
            case sent
            /// Valid, and not presented, as by a server whose operator has forgotten it.
            case missing
            /// Presented, but expired.
            case expired
        }

        /// A version of TLS.
        package enum Version: String, Codable, Hashable, Sendable, CaseIterable {
            /// TLS 1.1 (RFC 4346).
            case tls11
            /// TLS 1.2 (RFC 5246).
            case tls12
            /// TLS 1.3 (RFC 8446).
            case tls13
        }

        /// The certificate to present.
        package var certificate: Certificate
        /// Its subject alternative names in OpenSSL's form, such as `DNS:*.example.com` and `IP:::1`; nil for the
        /// certificate's own.
        package var names: [String]?
        /// Its common name; nil for the certificate's own.
        package var commonName: String?
        /// The common name of the CA that signs it; nil for the default.
        package var issuerName: String?
        /// The authority that signs it in place of the CA; nil for none.
        package var intermediate: Intermediate?
        /// The only version that is accepted; nil is 1.2 and 1.3.
        package var version: Version?
        /// Indicates whether a client without a certificate of that CA is refused; the server makes one
        /// (`ChappieTestServer.clientCertificate`).
        package var requiresClientCertificate = false

        /// Makes the options of a valid certificate for localhost, 127.0.0.1 and ::1, signed by
        /// `ChappieTestServer.caPEM`.
        public init() { self.init(certificate: .valid) }

        /// Makes the options of a certificate.
        package init(certificate: Certificate) { self.certificate = certificate }
    }
}
