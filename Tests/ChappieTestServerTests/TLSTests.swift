// TLS as a client of another make sees it, and the server under many connections at once.
import Foundation
import Testing

@testable import ChappieTestServer

@Suite struct TLSTests {
    private static let curl = "/usr/bin/curl"

    /// Runs curl with a CA and returns its output and exit code.
    private func fetch(_ url: String, caPEM: String?, _ arguments: [String] = []) throws -> (text: String, code: Int32)
    {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString).pem")
        try Data((caPEM ?? "").utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.curl)
        process.arguments = ["-s", "--noproxy", "*", "--max-time", "20", "--cacert", file.path] + arguments + [url]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (String(decoding: data, as: UTF8.self), process.terminationStatus)
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
