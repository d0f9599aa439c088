// A conversation in text with a realtime model: asks questions, and prints each answer while it arrives.
//
//     swift run Realtime [--url URL] QUESTION...
//
// OPENAI_API_KEY is the key. Another server, such as that of realtime_server.py, is named with --url.
import Foundation

/// Writes text at once, without the control characters that could move the cursor or change the terminal's settings.
func show(_ text: String) {
    let isShown = { (scalar: Unicode.Scalar) in scalar == "\n" || scalar.properties.generalCategory != .control }
    print(String(String.UnicodeScalarView(text.unicodeScalars.filter(isShown))), terminator: "")
    fflush(nil)
}

/// Asks questions, one after the other, in one session.
func converse(_ url: URL, key: String?, questions: [String]) async throws {
    let session = try await RealtimeSession(url: url, key: key, instructions: "Answer in one sentence.")
    for question in questions {
        let status = try await session.answer(to: question, atMost: 2_000, show)
        show(status == "completed" ? "\n" : " [\(status)]\n")
    }
    try await session.close()
}

var words = Array(CommandLine.arguments.dropFirst())
var address = "wss://api.openai.com/v1/realtime?model=gpt-realtime"
if words.first == "--url" { (address, words) = (words.dropFirst().first ?? "", Array(words.dropFirst(2))) }
guard let url = URL(string: address), !words.isEmpty else {
    print("Realtime: a question is missing, or the address behind --url")
    exit(64)
}
do {
    try await converse(url, key: ProcessInfo.processInfo.environment["OPENAI_API_KEY"], questions: words)
} catch {
    // The errors of both modules have neither content nor a secret, and say what to do.
    print("Realtime: \(error)")
    exit(1)
}
