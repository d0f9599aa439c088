import ChappieTestServer
import Foundation
import Testing

/// The trust anchors of the environment, which OpenSSL reads once in a process: so each case is a process.
@Suite(.timeLimit(.minutes(10))) struct TLSEnvironmentTests {
    private static func stream(
        from server: TLSServer, _ arguments: [String] = [], environment: [String: String]
    ) async throws -> (output: String, status: Int32) {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("chappie").path
        let result = try await run(
            program,
            ["stream", "hi", "--base-url", server.server.baseURL, "--max-reconnects", "0"] + arguments,
            environment: environment)
        return (String(decoding: result.output, as: UTF8.self), result.status)
    }

    private static func expectAnswer(_ result: (output: String, status: Int32)) {
        #expect(result.status == 0)
        #expect(result.output == LoopbackTurn.model.fullText + "\n")
    }

    private static func expectRefusal(_ result: (output: String, status: Int32)) {
        // EX_UNAVAILABLE, as for every server that cannot be talked to.
        #expect(result.status == 69)
        #expect(result.output.isEmpty)
    }

    @Test(arguments: [[], ["--http-only"]])
    func theFileOfTheEnvironmentIsTrusted(arguments: [String]) async throws {
        let server = try TLSServer()
        Self.expectAnswer(
            try await Self.stream(from: server, arguments, environment: ["SSL_CERT_FILE": server.trustPath]))
        Self.expectRefusal(try await Self.stream(from: server, arguments, environment: [:]))
    }

    @Test(arguments: [[], ["--http-only"]])
    func theDirectoryOfTheEnvironmentIsTrusted(arguments: [String]) async throws {
        let server = try TLSServer()
        let hash = try await run("/usr/bin/openssl", ["x509", "-in", server.trustPath, "-noout", "-subject_hash"])
        let name = String(decoding: hash.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        let directory = try TemporaryDirectory()
        try directory.write(try #require(server.server.caPEM), to: name + ".0")
        Self.expectAnswer(
            try await Self.stream(from: server, arguments, environment: ["SSL_CERT_DIR": directory.url.path]))
    }

    /// The file that is named takes the place of everything else.
    @Test func aFileIsTrustedAndNoOthers() async throws {
        let (server, other) = (try TLSServer(), try TLSServer())
        let environment = ["SSL_CERT_FILE": server.trustPath]
        Self.expectAnswer(
            try await Self.stream(from: server, ["--ca-file", server.trustPath], environment: environment))
        Self.expectRefusal(
            try await Self.stream(from: server, ["--ca-file", other.trustPath], environment: environment))
    }
}
