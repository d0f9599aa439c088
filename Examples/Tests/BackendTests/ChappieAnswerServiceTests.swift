// The backend's tests: each has a server of its own, on a free port of 127.0.0.1.
import Backend
import ChappieTestServer
import Testing

@Suite struct ChappieAnswerServiceTests {
    private let text = "Air scatters blue light more than red."

    @Test func answerArrivesInPieces() async throws {
        let server = try ChappieTestServer(configuration: .init(model: .text(self.text)))
        defer { server.stop() }
        let pieces = try await self.answer(of: server)
        #expect(pieces.joined() == self.text)
        #expect(pieces.count > 1)
        #expect(server.log.first?.bodies.first?.contains("Why is the sky blue?") == true)
    }

    @Test func cutConnectionNeitherRepeatsNorLosesText() async throws {
        let server = try self.server(.init(.cutAfterEvent(event: 6), attempts: 1...1))
        defer { server.stop() }
        #expect(try await self.answer(of: server).joined() == self.text)
        #expect(server.log.count == 2)
    }

    @Test func otherTextAfterACutBreaksTheAnswerOff() async throws {
        let server = try self.server(
            .init(.cutAfterEvent(event: 6), attempts: 1...1), .init(.divergeText(fromScalar: 0), from: 2))
        defer { server.stop() }
        await #expect(throws: AnswerError.brokenOff) { try await self.answer(of: server) }
    }

    @Test func refusedKeyIsReported() async throws {
        var configuration = ChappieTestServer.Configuration(model: .text(self.text))
        configuration.acceptedTokens = ["another key"]
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        await #expect(throws: AnswerError.keyRefused) { try await self.answer(of: server) }
    }

    @Test func refusedRequestIsReportedByItsTag() async throws {
        let server = try self.server(.init(.answer(status: 400)))
        defer { server.stop() }
        await #expect(throws: AnswerError.failed(tag: "http.400")) { try await self.answer(of: server) }
    }

    @Test func errorOfTheReceiverEndsTheAnswerUnchanged() async throws {
        struct WindowClosed: Error {}
        let server = try self.server(.init(.hang(afterEvent: 6)))
        defer { server.stop() }
        await #expect(throws: WindowClosed.self) {
            try await self.service(of: server).answer("Why is the sky blue?") { _ in throw WindowClosed() }
        }
        // The server would otherwise send signs of life for ever.
        #expect(await server.reached(.finishedAttempts(1)))
    }

    private func server(_ faults: ChappieTestServer.Fault...) throws -> ChappieTestServer {
        try ChappieTestServer(configuration: .init(model: .text(self.text), faults: faults))
    }

    private func service(of server: ChappieTestServer) -> some AnswerService {
        ChappieAnswerService(baseURL: server.url, key: "key", model: "model")
    }

    /// Returns the pieces of an answer.
    @discardableResult
    private func answer(of server: ChappieTestServer) async throws -> [String] {
        var pieces: [String] = []
        try await self.service(of: server).answer("Why is the sky blue?") { pieces.append($0) }
        return pieces
    }
}
