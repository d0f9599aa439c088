// Words on a terminal: they are divided between words, into lines of its width.
import Foundation
import Testing
import TransportSurface

@testable import ChappieCommand
@testable import ChappieTransport

private func failure(_ error: ChappieClientError) -> StreamFailure {
    StreamFailure(error, report: ChappieStreamReport(), proof: .key)
}

@Suite struct WrappedMessageTests {
    @Test(arguments: [
        ("", 9, 40, ""), ("one two", 9, 40, "one two"),
        (
            "give PROMPT, '-' for standard input, or --request FILE", 9, 40,
            "give PROMPT, '-' for standard\n         input, or --request FILE"
        ),
        // A word that is too long for a line has one of its own, and is not divided.
        ("see https://example.com/a/very/long/path here", 2, 20, "see\n  https://example.com/a/very/long/path\n  here"),
        // Characters of East Asian scripts and emoji take two columns.
        ("朝の港は静かで 船がゆっくり", 2, 20, "朝の港は静かで\n  船がゆっくり"), ("🧭🧭🧭🧭 🧭🧭🧭🧭", 2, 18, "🧭🧭🧭🧭\n  🧭🧭🧭🧭"),
        ("é — „x“ ж", 2, 11, "é — „x“ ж"),
    ])
    func linesEndBetweenWords(text: String, column: Int, width: Int, lines: String) {
        #expect(HelpText.wrapped(text, behind: column, width: width) == lines)
        #expect(HelpText.wrapped(text, behind: column, width: nil) == text)
    }

    /// A line of standard error that is no terminal is not divided.
    @Test(arguments: ["127.0.0.1:8080/v1", "ws://127.0.0.1/v1", "", "https://", "http:/v1"])
    func invalidBaseURLErrorFitsALine(text: String) throws {
        let error = #expect(throws: UsageError.self) { try BaseURL.read(text) }
        let line = try "\(Console.name) \(#require(error).message)"
        #expect(line.count <= 80 && line.hasSuffix("https://HOST/v1 or http://HOST:8080/v1"), "\(line)")
    }

    @Test(arguments: ["https://host/v1 ", " https://host/v1", "\thttps://host/v1\r\n"])
    func spacesAroundABaseURLAreLeftOut(text: String) throws {
        #expect(try BaseURL.read(text).absoluteString == "https://host/v1")
    }

    private static let words = Array(repeating: "chappie: words", count: 40).joined(separator: " ")

    @Test(arguments: [40, 60, 80, 100]) func failureFitsTheTerminal(width: Int) {
        var printer = StreamTextPrinter(
            terminals: .init(output: true, errorOutput: true), style: TerminalStyle(isColored: false), width: width)
        let error = ChappieClientError.httpError(404, #"{"detail":"\#(Self.words)"}"#)
        let lines = printer.printed(failure(error)).errorOutput.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= width }, "\(lines)")
        // The words of a server begin no line, and no line looks like the facts.
        #expect(lines[0].hasPrefix("chappie: The server answered"))
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("  ") })
        let said = lines.drop { !$0.hasPrefix("  the server says: ") }.dropFirst().dropLast()
        #expect(said.count > 1 && said.allSatisfy { $0.hasPrefix("    ") }, "\(said)")
        #expect(lines.last == "  http.404, category validation")
    }

    @Test func diagnosticsAreWrappedToTheTerminal() {
        var printer = StreamTextPrinter(
            terminals: .init(output: true, errorOutput: true), style: TerminalStyle(isColored: false), width: 40)
        let cut = ChappieDiagnostic(kind: .pathTimeLimit, connectionAge: .seconds(60))
        #expect(
            printer.printed(.diagnostic(cut)).errorOutput == """
                two connections were cut after 60 s:
                  that looks like a time limit on the
                  path

                """)
        for (transport, name) in [(ChappieTransportKind.webSocket, "WebSocket"), (.httpSSE, "HTTP")] {
            let event = ChappieStreamEvent.diagnostic(.init(kind: .connected, transport: transport))
            #expect(printer.printed(event).errorOutput == "connected (\(name))\n")
        }
    }
}
