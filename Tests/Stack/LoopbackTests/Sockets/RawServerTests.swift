import Foundation
import Testing

/// Waits of the raw server for a client that does nothing.
@Suite(.timeLimit(.minutes(10))) struct RawServerTests {
    @Test func waitForAConnectionThatIsNotMadeEndsWithAnError() async throws {
        let server = try RawServer()
        await #expect(throws: RawServer.NoConnection.self) {
            _ = try await server.accept(within: .milliseconds(1))
        }
    }

    @Test func readWithoutBytesAndWithoutAnEndFailsTheTest() async throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let silent = RawPeer(descriptor: ends[0])
        let reader = RawPeer(descriptor: ends[1], patience: .milliseconds(1))
        await withKnownIssue {
            #expect(await reader.read(until: "\n").isEmpty)
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains("neither sent a byte nor closed it") }
        }
        silent.write("line\n")
        silent.close()
        #expect(await reader.read(until: "\n") == "line\n")
    }
}
