import CTLSHandshake
import CTestServerTLS
import Dispatch
import Foundation
import StreamTransport
import Testing

/// The certificates of a host (RFC 9525), and the server name that is sent (RFC 6066 section 3).
@Suite(.timeLimit(.minutes(10))) struct ServerNameTests {
    /// A host, what a certificate has, and OpenSSL's verdict.
    struct Case: Sendable, CustomTestStringConvertible {
        let host: String
        let names: String
        var commonName = "localhost"
        var code: CInt = 0
        /// The name that the server must receive when its certificate is accepted; nil for none.
        var serverName: String?

        var testDescription: String { "\(self.host) of \(self.names.isEmpty ? "none" : self.names)" }

        static func accepted(_ host: String, _ names: String, as serverName: String?) -> Self {
            Self(host: host, names: names, serverName: serverName)
        }

        /// X509_V_ERR_HOSTNAME_MISMATCH.
        static func refusedName(_ host: String, _ names: String, commonName: String = "localhost") -> Self {
            Self(host: host, names: names, commonName: commonName, code: 62)
        }

        /// X509_V_ERR_IP_ADDRESS_MISMATCH.
        static func refusedAddress(_ host: String, _ names: String, commonName: String = "localhost") -> Self {
            Self(host: host, names: names, commonName: commonName, code: 64)
        }
    }

    private static let cases: [Case] = [
        .accepted("a.example.test", "DNS:a.example.test", as: "a.example.test"),
        .accepted("A.Example.TEST", "DNS:a.example.test", as: "a.example.test"),
        .accepted("a.example.test", "DNS:A.EXAMPLE.test", as: "a.example.test"),
        .accepted("a.example.test.", "DNS:a.example.test", as: "a.example.test"),
        .accepted("a.example.test", "DNS:b.example.test,IP:127.0.0.1,DNS:a.example.test", as: "a.example.test"),
        .accepted("localhost", "DNS:localhost", as: "localhost"),
        .accepted("b.example.test", "DNS:*.example.test", as: "b.example.test"),
        .accepted("xn--mnchen-3ya.example.test", "DNS:*.example.test", as: "xn--mnchen-3ya.example.test"),
        .refusedName("example.test", "DNS:*.example.test"),
        .refusedName("a.b.example.test", "DNS:*.example.test"),
        .refusedName("example.test", "DNS:*.test"),
        .refusedName("test", "DNS:*"),
        .refusedName("foo.example.test", "DNS:f*.example.test"),
        .refusedName("foo.example.test", "DNS:*o.example.test"),
        .refusedName("foo.example.test", "DNS:f*o.example.test"),
        .refusedName("foo.bar.example.test", "DNS:foo.*.example.test"),
        .refusedName("foo.bar.example.test", "DNS:*.*.example.test"),
        .refusedName("a.example.test", "DNS:.example.test"),
        .refusedName("a.example.test", "DNS:a.example.test.evil.test"),
        .refusedName("a.example.test", "DNS:b.example.test", commonName: "a.example.test"),
        .refusedName("a.example.test", "IP:127.0.0.1", commonName: "a.example.test"),
        .refusedName("a.example.test", "", commonName: "a.example.test"),
        .accepted("127.0.0.1", "IP:127.0.0.1", as: nil),
        .accepted("127.0.0.1", "DNS:a.example.test,IP:127.0.0.1", as: nil),
        .accepted("::1", "IP:::1", as: nil),
        .accepted("0:0:0:0:0:0:0:1", "IP:::1", as: nil),
        .accepted("2001:DB8::A", "IP:2001:db8::a", as: nil),
        .accepted("fe80::1%lo", "IP:fe80::1", as: nil),
        .refusedAddress("127.0.0.2", "IP:127.0.0.1"),
        .refusedAddress("127.0.0.1", "DNS:127.0.0.1"),
        .refusedAddress("127.0.0.1", "DNS:*.0.0.1"),
        .refusedAddress("127.0.0.1", "", commonName: "127.0.0.1"),
        .refusedAddress("127.0.0.1", "DNS:a.example.test", commonName: "127.0.0.1"),
        .refusedAddress("::2", "IP:::1"),
        .refusedAddress("::1", "DNS:a.example.test", commonName: "::1"),
        .refusedAddress("::ffff:127.0.0.1", "IP:127.0.0.1"),
        .refusedAddress("127.0.0.1", "IP:::ffff:127.0.0.1"),
    ]

    @Test(arguments: Self.cases)
    func aCertificateIsOfAHostByItsAlternativeNamesAlone(_ example: Case) async throws {
        let result = try await Self.handshake(with: example.host, names: example.names, commonName: example.commonName)
        #expect(result.client.certificate_code == example.code)
        #expect((result.client.is_established == 1) == (example.code == 0))
        if example.code == 0 { #expect(result.serverName == example.serverName) }
    }

    @Test(arguments: ["", ".", String(repeating: "a", count: 256)])
    func invalidServerNameStartsNoHandshake(_ host: String) async throws {
        let result = try await Self.handshake(with: host, names: "DNS:localhost,IP:192.0.2.1", commonName: "[")
        #expect(result.client.is_established == 0)
        #expect(result.serverName == nil)
    }

    private struct Result: Sendable {
        var client: cth_outcome
        var serverName: String?
    }

    private static func handshake(
        with host: String, names: String, commonName: String
    ) async throws -> Result {
        let identity = try #require(ServerIdentity(names: names, commonName: commonName))
        let client = try HandshakeClient(of: identity)
        let (outcome, serverName) = try await client.handshake(with: identity, host: host)
        return Result(client: outcome, serverName: serverName)
    }
}
