// The addresses of requests for a base URL.
import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct EndpointAddressTests {
    @Test(
        arguments: [
            ("http://h/v1", 80), ("https://h/v1", 443), ("http://h:/v1", 80), ("http://h:1/v1", 1),
            ("https://h:65535", 65_535), ("http://h:00080/v1", 80), ("http://[::1]:8080/v1", 8_080),
            ("http://[::1]/v1", 80),
            ("http://u:99@h/v1", 80), ("http://u:99@h:81/v1", 81), ("http://h?a=b:9", 80), ("http://h/a:9", 80),
        ] as [(String, UInt16)])
    func thePortIsReadFromTheURL(url: String, port: UInt16) throws {
        let endpoint = TransportEndpoint(baseURL: try #require(URL(string: url)), path: "/responses")
        #expect(endpoint?.port == port)
    }

    @Test(arguments: [
        "http://h:0/v1", "http://h:65536/v1", "http://h:99999999999999999999999/v1",
        "http://[::1]:18446744073709551696/v1", "https://u:p@h:18446744073709551617",
    ])
    func anotherPortIsAnInvalidRequest(url: String) async throws {
        // Some versions of Foundation reject it as a URL.
        guard let url = URL(string: url) else { return }
        #expect(TransportEndpoint(baseURL: url, path: "/responses") == nil)
        #expect(TransportEndpoint(url: url) == nil)
        let fixture = TurnFixture([]) { $0.baseURL = url }
        let outcome = await fixture.run()
        #expect(outcome.clientError?.tag == "request.invalid")
        #expect(fixture.transport.requests.isEmpty)
    }
}
