// TLS as a client of another make sees it, and the server under many connections at once.
import Foundation
import Testing

@testable import ChappieTestServer

@Suite struct TLSTests {
    private static let curl = "/usr/bin/curl"

    /// Runs curl with a CA and returns its output and exit code.
    private func fetch(_ url: String, caPEM: String?, _ arguments: [String] = []) throws -> (text: String, code: Int32)
    {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (authority, output) = (folder.appendingPathComponent("ca.pem"), folder.appendingPathComponent("output"))
        try Data((caPEM ?? "").utf8).write(to: authority)
        let options = ["-s", "--noproxy", "*", "--max-time", "600", "--cacert", authority.path, "-o", output.path]
        let code = try self.run([Self.curl] + options + arguments + [url])
        return (String(decoding: (try? Data(contentsOf: output)) ?? Data(), as: UTF8.self), code)
    }

    /// Runs a program to its end.
    ///
    /// Foundation's `Process` leaks, which the leak check would report.
    private func run(_ words: [String]) throws -> Int32 {
        var arguments = words.map { strdup($0) }
        defer { for argument in arguments { free(argument) } }
        arguments.append(nil)
        var identifier = pid_t()
        try #require(posix_spawn(&identifier, words[0], nil, nil, arguments, nil) == 0)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
        return status >> 8 & 0xFF
    }

    private func server(_ certificate: ChappieTestServer.TLSOptions.Certificate) throws -> ChappieTestServer {
        var configuration = ChappieTestServer.Configuration()
        configuration.tls = .init(certificate: certificate)
        return try ChappieTestServer(configuration: configuration)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: Self.curl), "curl is not installed"))
    func aClientThatTrustsTheCAReadsTheStream() throws {
        let server = try self.server(.valid)
        defer { server.stop() }
        #expect(server.baseURL == "https://127.0.0.1:\(server.port)/v1")
        for host in ["localhost", "127.0.0.1"] {
            let url = "https://\(host):\(server.port)/v1/responses"
            let (stream, code) = try self.fetch(url, caPEM: server.caPEM, ["-d", plainRequest])
            #expect(code == 0)
            #expect(text(of: events(inStream: stream)) == ChappieTestServer.ScriptedModel().fullText)
        }
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: Self.curl), "curl is not installed"),
        arguments: [ChappieTestServer.TLSOptions.Certificate.expired, .wrongName])
    func aBadCertificateIsRefused(_ certificate: ChappieTestServer.TLSOptions.Certificate) throws {
        let server = try self.server(certificate)
        defer { server.stop() }
        #expect(try self.fetch("\(server.baseURL)/models", caPEM: server.caPEM).code == 60)
    }

    @Test func aClientWithoutTLSIsDroppedAndStopDoesNotWaitForIt() throws {
        let server = try self.server(.valid)
        let silent = try RawClient(port: server.port)
        let plain = try RawClient(port: server.port)
        try plain.post(plainRequest)
        #expect(plain.readToEnd().end != .timedOut)
        server.stop()
        #expect(silent.readToEnd().end != .timedOut)
    }

    @Test func manyConnectionsAtOnceAreAllServedAndStoppingCutsTheRest() throws {
        let server = try ChappieTestServer(
            configuration: .init(model: .scripted(.init(seed: 1, textByteCount: 50))))
        let clients = try (0..<100).map { _ in try RawClient(port: server.port) }
        for client in clients { try client.post(plainRequest) }
        for client in clients.prefix(50) { #expect(try client.readHead().status == 200) }
        server.stop()
        for client in clients { #expect(client.readToEnd().end != .timedOut) }
    }
}
