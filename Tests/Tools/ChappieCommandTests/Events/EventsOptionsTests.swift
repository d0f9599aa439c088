// The arguments of `chappie events`, and the values that they become.
import EventSource
import Foundation
import Testing

@testable import ChappieCommand

@Suite struct EventsOptionsTests {
    private static func options(_ words: String...) throws -> EventsOptions { try Self.options(words) }

    private static func options(_ words: [String]) throws -> EventsOptions {
        try EventsOptions(ArgumentParser(EventsCommand.syntax).parse(words))
    }

    @Test func addressAloneIsAGet() throws {
        let options = try Self.options("https://a.test/events")
        #expect(options.request.url.absoluteString == "https://a.test/events")
        #expect(options.request.method == "GET")
        #expect(options.request.body == nil)
        #expect(options.request.fields.isEmpty)
        #expect(options.configuration.reconnection == EventSourceReconnectionPolicy())
        #expect(options.configuration.timeouts == EventSourceTimeouts())
        #expect(options.configuration.limits == EventSourceLimits())
        #expect(!options.printsJSON)
        #expect(options.maximumEventCount == nil)
    }

    @Test func contentMakesAPost() throws {
        let options = try Self.options("--data", "{\"a\":1}", "http://a.test/")
        #expect(options.request.method == "POST")
        #expect(options.request.body == Array("{\"a\":1}".utf8))
        #expect(options.request.fields.map { "\($0.name): \($0.value)" } == ["Content-Type: application/json"])
        #expect(!options.readsContent)
    }

    @Test func methodAndFieldsHavePrecedence() throws {
        let options = try Self.options(
            "--data", "x", "--method", "REPORT", "--header", "content-type: text/plain", "--header", "A:  b:c \t",
            "--last-event-id", "7", "http://a.test/")
        #expect(options.request.method == "REPORT")
        #expect(options.request.fields.map(\.value) == ["text/plain", "b:c"])
        #expect(options.request.lastEventID == "7")
    }

    @Test func contentAndFieldsAreReadFromFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let content = folder.appending(path: "content").path
        let fields = folder.appending(path: "fields").path
        try Data("@\n".utf8).write(to: URL(filePath: content))
        try Data("Authorization: Bearer x\r\n\nA: 1\n".utf8).write(to: URL(filePath: fields))
        let options = try Self.options("--data", "@\(content)", "--header", "@\(fields)", "http://a.test/")
        #expect(options.request.body == Array("@\n".utf8))
        #expect(options.request.fields.map(\.name) == ["Authorization", "A", "Content-Type"])
    }

    @Test func standardInputIsReadLater() throws {
        let options = try Self.options("--data", "@-", "http://a.test/")
        #expect(options.readsContent)
        #expect(options.request.method == "POST")
    }

    @Test func optionsBecomeTheConfiguration() throws {
        let options = try Self.options(
            "--max-events", "3", "--max-event", "100", "--max-reconnects", "2", "--reconnection-time", "0.5",
            "--retry-status", "429,503", "--resend", "asGet", "--connect-timeout", "1", "--response-timeout", "0",
            "--idle-timeout", "2", "--timeout", "3", "--ca-file", "ca.pem", "--proxy", "http://p.test", "--report", "r",
            "--json", "http://a.test/")
        let configuration = options.configuration
        #expect(options.maximumEventCount == 3)
        #expect(options.reportPath == "r")
        #expect(options.printsJSON)
        #expect(configuration.limits.eventByteCount == 100)
        #expect(configuration.reconnection.maximumAttempts == 2)
        #expect(configuration.reconnection.reconnectionTime == .milliseconds(500))
        #expect(configuration.reconnection.retriedStatusCodes == [429, 503])
        #expect(configuration.reconnection.resending == .asGet)
        #expect(configuration.timeouts.connect == .seconds(1))
        #expect(configuration.timeouts.response == nil)
        #expect(configuration.timeouts.idle == .seconds(2))
        #expect(configuration.timeouts.total == .seconds(3))
        #expect(configuration.tls.trust == .file(path: "ca.pem"))
        #expect(configuration.proxy == .url("http://p.test"))
    }

    @Test(arguments: ResendingChoice.allCases) func everyChoiceOfResendingHasItsPolicy(_ choice: ResendingChoice) throws
    {
        let options = try Self.options("--resend", choice.rawValue, "http://a.test/")
        #expect("\(options.configuration.reconnection.resending)" == choice.rawValue)
    }

    @Test(arguments: [
        [], ["ftp://a.test/"], ["a.test"], ["http://"], ["http://a.test/", "http://b.test/"],
        ["--header", "secret", "http://a.test/"], ["--header", ": secret", "http://a.test/"],
        ["--header", "@/nonexistent", "http://a.test/"], ["--data", "@/nonexistent", "http://a.test/"],
        ["--max-events", "0", "http://a.test/"], ["--max-reconnects", "-1", "http://a.test/"],
        ["--retry-status", "429,x", "http://a.test/"], ["--retry-status", "", "http://a.test/"],
        ["--retry-status", "42", "http://a.test/"], ["--resend", "sometimes", "http://a.test/"],
        ["--idle-timeout", "-1", "http://a.test/"], ["--reconnection-time", "soon", "http://a.test/"],
    ])
    func impossibleArgumentsAreUsageErrors(_ words: [String]) {
        let error = #expect(throws: UsageError.self) { try Self.options(words) }
        #expect(error?.message.contains("secret") == false)
    }

    @Test func addressIsRequiredInTheHelp() {
        #expect(EventsCommand.syntax.operandSpelling == "URL")
        #expect(ManualPage.text(for: [EventsCommand.syntax]).contains("\n.Ar URL\n"))
    }
}
