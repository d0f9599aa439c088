// `chappie ws` without a process: arguments and events in, configurations and lines out.
import Foundation
import Testing

@testable import ChappieCommand
@testable import WebSocketClient

@Suite struct WebSocketOptionsTests {
    private static func options(_ words: String...) throws -> WebSocketOptions {
        try WebSocketOptions(ArgumentParser(WebSocketCommand.syntax).parse(words))
    }

    @Test func everyOptionIsRead() throws {
        let options = try Self.options(
            "wss://example.org/chat?q=1", "--field", "Origin: https://o.example", "--field=X-Empty:", "--subprotocol",
            "v2.chat", "--subprotocol", "v1.chat", "--binary", "--keep-open", "--ping", "2.5", "--no-compression",
            "--max-message", "1000", "--connect-timeout", "3", "--ca-file", "ca.pem", "--proxy", "http://p:1", "--json")
        let configuration = options.configuration
        #expect(configuration.url.absoluteString == "wss://example.org/chat?q=1")
        #expect(
            configuration.additionalFields.map { "\($0.name)=\($0.value)" } == [
                "Origin=https://o.example", "X-Empty=",
            ])
        #expect(configuration.subprotocols == ["v2.chat", "v1.chat"])
        #expect(configuration.compression == .disabled && configuration.limits.messageByteCount == 1_000)
        #expect(configuration.timeouts.connect == .seconds(3))
        #expect(configuration.tls.trust == .file(path: "ca.pem") && configuration.proxy == .url("http://p:1"))
        #expect(options.sendsBinary && options.linger == nil && options.printsJSON)
        #expect(options.pingInterval == .milliseconds(2_500))
    }

    @Test func theDefaultsAreThoseOfTheClient() throws {
        let options = try Self.options("ws://127.0.0.1:8080")
        #expect(options.configuration.compression == .enabled && options.configuration.proxy == .environment)
        // A person's input may be long, and a server slow.
        var timeouts = WebSocketTimeouts()
        timeouts.close = .seconds(60)
        #expect(options.configuration.timeouts == timeouts)
        #expect(!options.sendsBinary && !options.printsJSON && options.pingInterval == nil)
        #expect(options.linger == .seconds(1))
        #expect(try Self.options("ws://h", "--linger", "0").linger == .zero)
        #expect(try Self.options("ws://h", "--linger", "2.5").linger == .milliseconds(2_500))
        #expect(try Self.options("ws://h", "--connect-timeout", "0").configuration.timeouts.connect == nil)
        #expect(try Self.options("ws://h", "--close-timeout", "3").configuration.timeouts.close == .seconds(3))
        #expect(try Self.options("ws://h", "--close-timeout", "0").configuration.timeouts.close > .seconds(1_000_000))
    }

    @Test(arguments: [
        [], ["ftp://example.org"], ["example.org"], ["ws://"], ["ws://a", "ws://b"], ["ws://a", "--field", "Origin"],
        ["ws://a", "--field", ": x"], ["ws://a", "--ping", "0"], ["ws://a", "--max-message", "0"],
        ["ws://a", "--frame", "1"], ["ws://a", "--linger", "-1"], ["ws://a", "--linger", "nan"],
        ["ws://a", "--linger", "1e9"],
    ])
    func aWrongLineIsAUsageError(words: [String]) {
        #expect(throws: UsageError.self) {
            try WebSocketOptions(ArgumentParser(WebSocketCommand.syntax).parse(words))
        }
    }

    @Test func linesBecomeMessages() throws {
        let text = try Self.options("ws://a")
        #expect(try text.message(of: Array("zwölf".utf8)) == .text("zwölf"))
        #expect(throws: UsageError.self) { try text.message(of: [0xFF]) }
        #expect(try Self.options("ws://a", "--binary").message(of: [0xFF]) == .binary([0xFF]))
    }

    // MARK: Lines

    @Test(arguments: 1...8) func inputChunksDoNotChangeTheLines(count: Int) throws {
        let input = Array("one\n\ntwo and more\r\nlast".utf8)
        var splitter = LineSplitter(limit: 100)
        var lines: [String] = []
        func take() { while let line = splitter.next() { lines.append(String(decoding: line, as: UTF8.self)) } }
        for start in stride(from: 0, to: input.count, by: count) {
            try splitter.append(Array(input[start..<min(start + count, input.count)]))
            take()
        }
        splitter.finish()
        take()
        #expect(lines == ["one", "", "two and more\r", "last"])
    }

    @Test func aLineHasALimit() throws {
        var splitter = LineSplitter(limit: 4)
        try splitter.append(Array("1234\n123".utf8))
        #expect(splitter.next() == Array("1234".utf8) && splitter.next() == nil)
        try splitter.append(Array("4".utf8))
        #expect(throws: UsageError.self) { try splitter.append(Array("5".utf8)) }
    }
}

@Suite struct WebSocketPrinterTests {
    private static let pipe = Console.Terminals(output: false, errorOutput: false)
    private static let terminal = Console.Terminals(output: true, errorOutput: true)
    private let text = WebSocketPrinter(printsJSON: false, terminals: Self.pipe)
    private let json = WebSocketPrinter(printsJSON: true, terminals: Self.pipe)

    @Test func messagesAreLines() {
        #expect(self.text.message(.text("a\u{1B}[1mb")) == .init(output: "a\u{1B}[1mb\n"))
        let terminal = WebSocketPrinter(printsJSON: false, terminals: Self.terminal)
        #expect(terminal.message(.text("a\u{1B}[1mb")) == .init(output: "a\\u{1B}[1mb\n"))
        // To a pipe a message is as it was sent, on several lines or not.
        #expect(self.text.message(.text("a\n\u{202E}b")) == .init(output: "a\n\u{202E}b\n"))
        #expect(terminal.message(.text("a\n\u{202E}b")) == .init(output: "a\n\\u{202E}b\n"))
        #expect(self.json.message(.text("a\n\u{202E}b")).output == #"{"type":"text","text":"a\n\u202eb"}"# + "\n")
        #expect(self.text.message(.binary([0, 10, 255])) == .init(output: "000aff\n"))
        #expect(self.json.message(.text("a\n\"b\"")).output == #"{"type":"text","text":"a\n\"b\""}"# + "\n")
        #expect(self.json.message(.binary([0, 255])).output == #"{"type":"binary","base64":"AP8="}"# + "\n")
    }

    @Test func pongIsPrintedWithItsRoundTripTime() {
        #expect(self.text.pong(after: .microseconds(3_240)) == .init(note: "pong after 3.2 ms"))
        #expect(self.json.pong(after: .milliseconds(500)).output == #"{"type":"pong","duration":0.5}"# + "\n")
        #expect(self.text.missingPong == .init(note: "no pong within 10 s"))
        #expect(self.json.missingPong.output == #"{"type":"missing-pong"}"# + "\n")
    }

    @Test(arguments: [
        (WebSocketClose(code: 1000, initiator: .client), "closed with code 1000", #""code":1000,"initiator":"client""#),
        (
            WebSocketClose(code: 1011, reason: "a\nb", initiator: .server), "closed by the server with code 1011: a b",
            #""code":1011,"reason":"a\nb","initiator":"server""#
        ),
        (WebSocketClose(code: 1006, initiator: .network), "lost with code 1006", #""code":1006,"initiator":"network""#),
    ])
    func closeIsPrintedAsTextAndJSON(close: WebSocketClose, note: String, members: String) {
        #expect(self.text.closed(close) == .init(note: note))
        #expect(self.json.closed(close) == .init(output: #"{"type":"close","# + members + "}\n"))
    }

    @Test func anErrorHasItsFacts() {
        let error = WebSocketError.closed(WebSocketClose(code: 1008, reason: "words", initiator: .server))
        #expect(self.text.failed(error) == .init())
        let line = self.json.failed(error).output ?? ""
        #expect(line.hasPrefix(#"{"type":"error","tag":"ws.close.1008","category":"permission","retryable":false,"#))
        #expect(!line.contains("words"))
    }

    @Test func interruptionHasNoCategory() {
        #expect(self.text.failed(CancellationError()) == .init())
        let line = #"{"type":"error","tag":"cancelled","retryable":true,"safeDescription":"Interrupted."}"#
        #expect(self.json.failed(CancellationError()) == .init(output: line + "\n"))
    }

    private static func lines(of error: WebSocketError) -> String {
        error.lines.text(style: TerminalStyle(isColored: false), width: nil)
    }

    @Test func refusalAdvisesAnotherTryOnlyWhereItIsRetryable() {
        for statusCode in 100...999 {
            let error = WebSocketError.refused(WebSocketRefusal(statusCode: statusCode, fields: [], body: ""))
            #expect(error.isRetryable || !error.safeDescription.lowercased().contains("try again"), "\(error)")
        }
    }

    @Test func refusalHasTheServersMessageOnALineOfItsOwn() {
        let body = #"{"error":{"message":"No\nchappie: key","code":"x"}}"#
        let error = WebSocketError.refused(WebSocketRefusal(statusCode: 401, fields: [], body: body))
        #expect(
            Self.lines(of: error) == """
                chappie: \(error.safeDescription)
                  the server says: No chappie: key
                  http.401, category auth

                """)
        #expect(self.json.failed(error).output?.contains(#""serverMessage":"No chappie: key"}"#) == true)
    }

    /// The line about the end has the reason.
    @Test func reasonOfACloseFrameIsNotRepeated() {
        let error = WebSocketError.closed(WebSocketClose(code: 1008, reason: "words", initiator: .server))
        #expect(
            Self.lines(of: error) == """
                chappie: \(error.safeDescription)
                  ws.close.1008, category permission

                """)
    }

    @Test(arguments: [
        (1000, ExitCode.unavailable), (1002, .unavailable), (1008, .credentials), (1009, .unavailable),
        (1011, .unavailable), (1006, .unavailable),
    ])
    func aCloseCodeHasAnExitCode(code: Int, expected: ExitCode) {
        #expect(ExitCode(WebSocketError.closed(WebSocketClose(code: code, initiator: .server))) == expected)
    }
}
