import ChappieTestServer
import Foundation
import Testing

/// The output of `chappie stream` about a refusal, with the server's description.
@Suite(.timeLimit(.minutes(10))) struct CommandRefusalTests {
    private static let key = "sk-canary-0123456789"

    private static func run(
        _ action: ChappieTestServer.Fault.Action, _ options: [String] = [], key: String? = Self.key
    ) async throws -> (output: String, errors: String, status: Int32) {
        try await withServer(.init(model: .scripted(.init()), faults: [.init(action: action)])) { server in
            let home = try TemporaryDirectory()
            let result = try await ChildProcess.run(
                "/bin/sh",
                [
                    "-c", #"exec "$0" "$@" 2>"$CHAPPIE_HOME/errors""#, CommandProgram.path, "stream", "--base-url",
                    server.baseURL, "hi",
                ] + options,
                input: "",
                environment: [
                    "CHAPPIE_HOME": home.url.path, "NO_PROXY": "*", "CHAPPIE_API_KEY": key ?? "", "OPENAI_API_KEY": "",
                ])
            let errors = try String(contentsOfFile: home.path(of: "errors"), encoding: .utf8)
            return (String(decoding: result.output, as: UTF8.self), errors, result.status)
        }
    }

    private static let refusals: [(ChappieTestServer.Fault.Action, String)] = [
        (
            .answer(status: 400, body: #"{"detail":"Server is pinned to 'x'; requested 'y'."}"#),
            "Server is pinned to 'x'; requested 'y'."
        ),
        (
            .answer(status: 404, body: #"{"error":{"message":"The model 'y' does not exist, \#(Self.key)"}}"#),
            "The model 'y' does not exist, [redacted]"
        ),
        (.answer(status: 500, body: "upstream \u{1B}[31mgone\n"), "upstream [31mgone"),
        (
            .answer(status: 403, body: "<html><head><title>Blocked by policy</title></head></html>"),
            #"an HTML page with the title "Blocked by policy""#
        ),
        (
            .error(
                event: .init(shape: .nested, status: 400, code: "unsupported_parameter", message: "No 'effort' here."),
                afterEvent: 0), "No 'effort' here."
        ),
        (
            .fail(code: "context_length_exceeded", message: "Your input is too long.", afterEvent: 2),
            "Your input is too long."
        ),
    ]

    @Test(arguments: Self.refusals.indices, [["--max-reconnects", "0"], ["--max-reconnects", "0", "--http-only"]])
    func serverMessageIsPrintedOnItsOwnLine(row: Int, options: [String]) async throws {
        let (action, words) = Self.refusals[row]
        let outcome = try await Self.run(action, options)
        #expect(outcome.status != 0)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.contains("  the server says: \(words)"), "\(outcome.errors)")
        #expect(lines.first?.contains(words) == false)
        #expect(!outcome.errors.contains(Self.key))

        let json = try await Self.run(action, options + ["--json", "--raw", "all"])
        let last = try #require(json.output.split(separator: "\n").last)
        let object = try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any]
        #expect(object?["serverMessage"] as? String == words)
        #expect((object?["safeDescription"] as? String)?.contains(words) == false)
        #expect(!json.output.contains(Self.key))
    }

    /// Neither the report nor an answer without words has a line of the server's.
    @Test func reportOmitsTheServerMessage() async throws {
        let home = try TemporaryDirectory()
        let path = home.path(of: "report.json")
        let body = #"{"detail":"words of the server"}"#
        let outcome = try await Self.run(.answer(status: 400, body: body), ["--report", path])
        #expect(outcome.errors.contains("the server says: words of the server\n"))
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("words of the server"))
        let silent = try await Self.run(.answer(status: 400, body: ""))
        #expect(!silent.errors.contains("the server says"))
    }

    /// The code is what the error has; a person reads the words beside it.
    @Test(
        arguments: [
            .answer(
                status: 401,
                body: #"{"error":{"message":"Incorrect API key provided: \#(Self.key).","code":"invalid_api_key"}}"#),
            .error(
                event: .init(
                    shape: .nested, status: 401, code: "invalid_api_key",
                    message: "Incorrect API key provided: \(Self.key)."),
                afterEvent: 0),
        ] as [ChappieTestServer.Fault.Action], [[], ["--http-only"]])
    func refusedKeyHasTheServersWordsAndNotItsCode(action: ChappieTestServer.Fault.Action, options: [String])
        async throws
    {
        let outcome = try await Self.run(action, options)
        #expect(outcome.status == 77)
        #expect(outcome.errors.contains("\n  the server says: Incorrect API key provided: [redacted].\n"))
        let json = try await Self.run(action, options + ["--json"])
        #expect(json.output.contains(#""serverMessage":"Incorrect API key provided: [redacted].""#))
    }

    @Test func refusedKeyIsNamedInTheAdvice() async throws {
        let refusal = ChappieTestServer.Fault.Action.answer(status: 401, body: #"{"detail":"Invalid token"}"#)
        let keyed = try await Self.run(refusal)
        #expect(keyed.status == 77)
        #expect(keyed.errors.contains("\n  the server says: Invalid token\n"))
        #expect(keyed.errors.hasPrefix("chappie: The server does not accept the API key. Check the key"))
        #expect(!keyed.errors.contains("Sign in"))
        let bare = try await Self.run(refusal, key: nil)
        #expect(bare.status == 77)
        #expect(bare.errors.hasPrefix("chappie: The server wants a credential, and none was sent. Give an API key"))
    }
}
