import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// `chappie stream` and the files that it is started with.
@Suite(.timeLimit(.minutes(1))) struct CommandOutputTests {
    private static func report(_ path: String) throws -> ChappieStreamReport {
        try JSONDecoder().decode(ChappieStreamReport.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Files that are opened do not get the numbers of the standard ones, to which something is written.
    @Test(arguments: ["<&- >&- 2>&-", "<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&-"])
    func closedStandardFilesAreNotReplacedByOthers(_ closing: String) async throws {
        let program = try CommandProgram()
        let path = program.home.path(of: "report.json")
        _ = try await program.run(
            script: #"exec "$0" "$@" "# + closing,
            ["stream", "--base-url", program.server.baseURL, "--json", "--raw", "all", "--report", path, "hi"])
        let written = try Self.report(path)
        #expect(written.attempts.map(\.outcome) == ["completed"])
        #expect(program.server.log.count == 1)
    }
}
