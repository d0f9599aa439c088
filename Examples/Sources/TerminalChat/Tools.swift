// The tools of the chat, and the server of the demonstration.
import Chappie
import ChappieTestServer
import Foundation

/// The notes that the model has taken.
actor Notebook {
    private(set) var notes: [String] = []

    /// Adds a note, and returns how many there are.
    func add(_ note: String) -> Int {
        self.notes.append(note)
        return self.notes.count
    }
}

/// Returns a tool that changes nothing, so it runs without a question.
func makeClockTool() -> ChappieHostTool {
    ChappieHostTool(name: "current_time", description: "The time, in UTC.") { _ in
        ChappieToolResult(output: Date().formatted(.iso8601))
    }
}

/// Returns a tool that a person is asked about, because it changes something.
func makeNoteTool(for notebook: Notebook) -> ChappieHostTool {
    let schema: ChappieJSONValue = [
        "type": "object", "properties": ["note": ["type": "string"]], "required": ["note"],
    ]
    return ChappieHostTool(
        name: "take_note", description: "Keeps a note.", inputSchema: schema, policy: .ask
    ) { call in
        // A failed result goes to the model, which can try again; an error that is thrown would end the turn.
        guard let note = call.argumentsJSON?["note"]?.string, note.utf8.count <= 1_000 else {
            return .failed("A note is a text of at most 1,000 bytes.")
        }
        return ChappieToolResult(output: "That is note \(await notebook.add(note)).")
    }
}

/// Starts a server whose model calls both tools once in each turn, and then answers.
func startDemoServer() throws -> ChappieTestServer {
    var model = ChappieTestServer.ScriptedModel()
    model.text = "It is noted, with the time."
    model.toolCallCount = 2
    model.toolArguments = ["current_time": "{}", "take_note": #"{"note":"Call Ada"}"#]
    return try ChappieTestServer(configuration: .init(model: .scripted(model)))
}
