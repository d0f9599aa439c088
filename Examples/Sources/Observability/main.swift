// One turn whose first connection is cut in the middle of the text: its log, its metrics and its report.
//
//     swift run Observability          a server inside the program
//
// CHAPPIE_BASE_URL names another server. Logs and metrics go to standard error, the report to standard output.
import Chappie
import ChappieTestServer
import Foundation
import Logging

/// Returns a summary of one turn for its operator.
func summary(of report: ChappieStreamReport) -> String {
    let outcomes = report.attempts.map { "\($0.transport.rawValue) \($0.outcome ?? "runs")" }
    return "attempts: \(report.attempts.count) (\(outcomes.joined(separator: ", "))), "
        + "reconnects: \(report.reconnects), verified bytes: \(report.verifiedReplayByteCount)"
}

let isDemo = ProcessInfo.processInfo.environment["CHAPPIE_BASE_URL"] == nil
let cut = ChappieTestServer.Fault(.cutAfterEvent(event: 6), attempts: 1...1)
let script = ChappieTestServer.Configuration(model: .text("Air scatters blue light more than red."), faults: [cut])
let server = isDemo ? try ChappieTestServer(configuration: script) : nil
defer { server?.stop() }

var configuration = ChappieConfiguration(endpoint: server.map { .other($0.url) })
configuration.transport.log(to: Logger(label: "chappie"))
configuration.transport.record(as: "chappie")
let client = Chappie.client(configuration: configuration)

var request = ChappieResponseRequest("Why is the sky blue?")
// The name that the server, the log and the report have for the turn: that of the program's own request, where it has
// one.
request.requestID = UUID().uuidString
let turn = client.streamHandle(request)
// Collected, because the log goes to the same terminal.
var text = ""
for try await event in turn.sequence() {
    if case .textDelta(let delta) = event { text += delta }
}
print(text)
print(summary(of: turn.report))
