// Many prompts, some at a time, over one engine: a rate limit of the server makes all of them wait, and none fails.
//
//     swift run Batch < prompts.txt    a prompt a line; a server inside the program
//
// CHAPPIE_BASE_URL names another server, and OPENAI_API_KEY its key. Answers go to standard output as they end, each
// behind the number of its prompt; everything else goes to standard error.
import ChappieTestServer
import ChappieTransport
import Foundation

/// Returns the answer to one prompt, or the reason why there is none.
func answer(to prompt: String, over transport: ChappieStreamingTransport) async -> String {
    var text = ""
    do {
        for try await event in transport.events(ChappieTransportRequest(prompt: prompt, model: "gpt-5.5")) {
            switch event {
            case .textDelta(let delta): text += delta
            case .diagnostic(let diagnostic) where diagnostic.kind == .rateLimited:
                let delay = diagnostic.delay.map { "\($0)" } ?? "a while"
                try? FileHandle.standardError.write(contentsOf: Data("Batch: a rate limit: waiting \(delay)\n".utf8))
            default: break
            }
        }
        return text
    } catch {
        return "failed: \(error)"
    }
}

let environment = ProcessInfo.processInfo.environment
// The first request is answered with 429 and a second to wait.
let busy = ChappieTestServer.Fault(
    .answer(status: 429, fields: [.init(name: "retry-after", value: "1")]), attempts: 1...1)
let script = ChappieTestServer.Configuration(model: .text("Air scatters blue light more than red."), faults: [busy])
let address = environment["CHAPPIE_BASE_URL"].flatMap { URL(string: $0) }
let server = address == nil ? try ChappieTestServer(configuration: script) : nil
defer { server?.stop() }

var configuration = ChappieTransportConfiguration(baseURL: address ?? server?.url ?? URL(filePath: "/")) { _ in
    environment["OPENAI_API_KEY"].map { ChappieCredential(bearerToken: $0) }
}
// The others wait with the one that was refused, instead of being refused as well.
configuration.concurrency = ChappieConcurrencyPolicy(maximumTurnCount: 4)
configuration.reportsDiagnostics = true
let transport = ChappieStreamingTransport(configuration: configuration)

await withTaskGroup(of: (Int, String).self) { group in
    var count = 0
    while let prompt = readLine() {
        count += 1
        group.addTask { [count] in (count, await answer(to: prompt, over: transport)) }
    }
    for await (number, answer) in group {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(number): \(answer)\n".utf8))
    }
}
await transport.shutdown()
