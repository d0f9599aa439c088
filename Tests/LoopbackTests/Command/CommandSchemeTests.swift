import ChappieTestServer
import Foundation
import Testing

/// The advice of `chappie stream` where the scheme of the base URL is not that of the port.
@Suite(.timeLimit(.minutes(1))) struct CommandSchemeTests {
    @Test(arguments: [[], ["--http-only"]], [true, false])
    func otherSchemeIsNamed(options: [String], hasTLS: Bool) async throws {
        var configuration = ChappieTestServer.Configuration()
        if hasTLS { configuration.tls = .init() }
        try await withServer(configuration) { server in
            let url = try #require(URLComponents(string: server.baseURL))
            #expect(url.scheme == (hasTLS ? "https" : "http"))
            var other = url
            other.scheme = hasTLS ? "http" : "https"
            let program = try CommandProgram()
            let outcome = try await program.run(
                ["stream", "--max-reconnects", "0", "--base-url", other.string ?? "", "hi"] + options)
            #expect(outcome.status == 69)
            #expect(outcome.output.isEmpty)
            let advice =
                hasTLS
                ? "if the server has TLS there, the base URL begins with https."
                : "if the server has no TLS there, the base URL begins with http."
            #expect(outcome.errorOutput.contains("Check the port: \(advice)\n"), "\(outcome.errorOutput)")
        }
    }
}
