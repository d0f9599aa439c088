// A chat on a terminal, with two tools: one runs at once, and a person is asked before the other.
//
//     swift run TerminalChat           with OPENAI_API_KEY, or with CHAPPIE_BASE_URL for another server
//     swift run TerminalChat --demo    with a server inside the program
//
// The end of the input (Control-D) ends the chat.
import Chappie
import ChappieTestServer
import Foundation

let server = CommandLine.arguments.contains("--demo") ? try startDemoServer() : nil
defer { server?.stop() }

let notebook = Notebook()
// Without an endpoint, the environment names the server and the key.
var configuration = ChappieConfiguration(endpoint: server.map { .other($0.url) })
configuration.tools = [makeClockTool(), makeNoteTool(for: notebook)]
configuration.toolApprovalHandler = { call in
    // The arguments are the model's words, which could otherwise look like the program's own lines.
    let arguments = call.arguments.replacing("\n", with: " ")
    return try await confirm("May \(call.name) run with \(arguments)? y/n ")
        ? .approved() : .denied("The person at the terminal said no.")
}

// A model that is asked again after a cut answers differently: show that answer, in place of an error.
configuration.streamingTransportPolicy.divergence = .restarts

// One client is one conversation: it remembers what was said.
let client = Chappie.client(configuration: configuration)
var turnCount = 0
while let question = try readLine(after: "> ") {
    do {
        try await answer(question, with: client)
        turnCount += 1
    } catch let error as ChappieClientError {
        // Nothing of a turn that fails before its first complete response stays in the conversation, so the same
        // question can be asked again. `safeDescription` has no content and no secret.
        try show("\n\(error.safeDescription)\n")
    }
}
try show("\nturns: \(turnCount), notes: \(await notebook.notes.count)\n")

@MainActor func answer(_ question: String, with client: ChappieClient) async throws {
    for try await event in client.events(question) {
        switch event {
        case .textDelta(let text), .refusalDelta(let text): try show(text)
        case .toolCallRequested(let call): try show("[\(call.name) is called]\n")
        case .toolCallCompleted(let result): try show("[\(result.name): \(result.status.rawValue)]\n")
        case .restarted: try show("\n[another answer replaces the text above]\n")
        case .completed: try show("\n")
        // The others are for programs that show more, and so may be cases that a later version adds.
        default: break
        }
    }
}
