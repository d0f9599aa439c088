import ChappieTestServer
import Foundation
import Testing

/// The advice of the commands where the scheme of an address is not that of the port.
@Suite(.timeLimit(.minutes(10))) struct CommandSchemeTests {
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

    @Test(arguments: [true, false]) func otherSchemeOfAnEventSourceIsNamed(hasTLS: Bool) async throws {
        try await self.expectAdvice(
            of: ["events", "--max-reconnects", "0"], hasTLS: hasTLS, schemes: (plain: "http", secure: "https"))
    }

    @Test(arguments: [true, false]) func webSocketWithTheWrongSchemeNamesTheOther(hasTLS: Bool) async throws {
        try await self.expectAdvice(of: ["ws"], hasTLS: hasTLS, schemes: (plain: "ws", secure: "wss"))
    }

    private func expectAdvice(
        of words: [String], hasTLS: Bool, schemes: (plain: String, secure: String)
    ) async throws {
        var configuration = ChappieTestServer.Configuration()
        if hasTLS { configuration.tls = .init() }
        try await withServer(configuration) { server in
            var url = try #require(URLComponents(string: server.baseURL))
            url.scheme = hasTLS ? schemes.plain : schemes.secure
            let outcome = try await CommandProgram().run(words + [url.string ?? ""])
            #expect(outcome.status == 69)
            #expect(outcome.output.isEmpty)
            let advice =
                hasTLS
                ? "if the server has TLS there, the URL begins with \(schemes.secure)."
                : "if the server has no TLS there, the URL begins with \(schemes.plain)."
            #expect(outcome.errorOutput.contains("Check the port: \(advice)\n"), "\(outcome.errorOutput)")
        }
    }
}
