// The grammar of `--fault`, `--upstream`, and the options that belong to them.
import ChappieTestServer
import Foundation
import Testing

@testable import ChappieCommand

private func message(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch {
        return (error as? UsageError)?.message ?? "another error: \(error)"
    }
}

@Suite struct ServeFaultTests {
    @Test(arguments: [
        ("cut@1234", FaultProxy.Fault(.cut(atByte: 1234))),
        ("cut@0", .init(.cut(atByte: 0))),
        ("reset@0:to-server#2", .init(.cut(atByte: 0, with: .reset), connections: 2...2, direction: .toServer)),
        ("reset#2@0:to-server", .init(.cut(atByte: 0, with: .reset), connections: 2...2, direction: .toServer)),
        ("stall@500+2s", .init(.stall(atByte: 500, for: .seconds(2)))),
        ("stall@500", .init(.stall(atByte: 500))),
        ("stall@500+1.5m#3-", .init(.stall(atByte: 500, for: .seconds(90)), from: 3)),
        ("half-open@100", .init(.halfOpen(atByte: 100))),
        ("half-open@100:to-client", .init(.halfOpen(atByte: 100))),
        ("slice=1", .init(.slice(byteCount: 1))),
        ("slice=10@4:to-server", .init(.slice(byteCount: 10, fromByte: 4), direction: .toServer)),
        ("throttle=1000", .init(.throttle(bytesPerSecond: 1000))),
        ("throttle=0.5@7", .init(.throttle(bytesPerSecond: 0.5, fromByte: 7))),
        ("corrupt@77^0f", .init(.corrupt(atByte: 77, mask: 0x0F))),
        ("corrupt@77^FF", .init(.corrupt(atByte: 77))),
        ("corrupt@77", .init(.corrupt(atByte: 77))),
        ("refuse#2-5", .init(.refuse, connections: 2...5)),
        ("silence", .init(.silence)),
        ("delay+200ms", .init(.delay(.milliseconds(200)))),
        ("delay+0s#7", .init(.delay(.zero), connections: 7...7)),
    ])
    func aFaultIsReadFromItsShortForm(_ text: String, fault: FaultProxy.Fault) throws {
        #expect(try ServeFault(text).fault == fault)
    }

    @Test(arguments: [
        ("cutt@5", "there is no fault 'cutt'; did you mean cut?"),
        ("corupt@5", "there is no fault 'corupt'; did you mean corrupt?"),
        ("halfopen@5", "there is no fault 'halfopen'; did you mean half-open?"),
        ("stal@5", "there is no fault 'stal'; did you mean stall?"),
        ("cut", "cut needs @BYTE"), ("slice", "slice needs =N"), ("delay", "delay needs +TIME"),
        ("cut@", "@BYTE needs a whole number, not ''"), ("cut@x", "@BYTE needs a whole number, not 'x'"),
        ("cut@-1", "@BYTE needs a whole number, not '-1'"), ("cut@1@2", "@BYTE is there twice"),
        ("cut@99999999999999999999", "@BYTE needs a whole number, not '99999999999999999999'"),
        ("cut@5+2s", "cut takes no +TIME"), ("cut@5^ff", "cut takes no ^HH"), ("cut@5=1", "cut takes no =N"),
        ("refuse@5", "refuse takes no @BYTE"), ("refuse:to-server", "refuse takes no :to-client or :to-server"),
        ("slice=0", "byteCount must be at least 1"), ("slice=x", "=N needs a whole number, not 'x'"),
        ("throttle=0", "bytesPerSecond must be at least 0.001"),
        ("throttle=fast", "=N needs a number of bytes a second, not 'fast'"),
        ("corrupt@5^00", "mask must be from 1 to 255"),
        ("corrupt@5^100", "^HH needs two hexadecimal digits, not '100'"),
        ("corrupt@5^xy", "^HH needs two hexadecimal digits, not 'xy'"),
        ("stall@5+2", "+TIME needs a time such as 200ms, 2s or 1m, not '2'"),
        ("stall@5+s", "+TIME needs a time such as 200ms, 2s or 1m, not 's'"),
        ("stall@5+2h", "+TIME needs a time such as 200ms, 2s or 1m, not '2h'"),
        ("stall@5+999999999m", "+TIME needs a time such as 200ms, 2s or 1m, not '999999999m'"),
        ("cut@5:to-sever", "there is no direction 'to-sever'; did you mean to-server?"),
        ("cut@5#0", "#N needs connections counted from 1, such as 2, 2-5 or 2-, not '0'"),
        ("cut@5#5-2", "#N needs connections counted from 1, such as 2, 2-5 or 2-, not '5-2'"),
        ("cut@5#", "#N needs connections counted from 1, such as 2, 2-5 or 2-, not ''"),
        ("cut@5#a-b", "#N needs connections counted from 1, such as 2, 2-5 or 2-, not 'a-b'"),
    ])
    func invalidFaultIsRejectedWithItsProblem(_ text: String, problem: String) {
        #expect(message { _ = try ServeFault(text) } == "option --fault \(text): \(problem)")
    }

    @Test func emptyFaultIsRejectedAsUnknown() {
        #expect(message { _ = try ServeFault("") }?.contains("there is no fault ''") == true)
    }

    @Test func everyFaultIsInTheHelp() throws {
        let text = HelpText().text(for: ServeCommand.syntax)
        let names = [
            "cut@", "reset@", "half-open@", "stall@", "slice=", "throttle=", "corrupt@", "refuse", "silence", "delay+",
        ]
        for name in names { #expect(text.contains("\n  \(name)")) }
        // The examples of the help are valid.
        let note = try #require(ServeCommand.syntax.sections.first).note
        let examples = note.split(separator: "'").filter { $0.contains("@") }
        #expect(examples.count == 2)
        for example in examples { _ = try ServeFault(String(example)) }
    }
}

@Suite struct ServeUpstreamTests {
    @Test(arguments: [
        ("http://127.0.0.1:8000", "127.0.0.1", 8000, "http", "/v1"),
        ("http://127.0.0.1:8000/", "127.0.0.1", 8000, "http", "/"),
        ("ws://localhost/a/b", "localhost", 80, "http", "/a/b"),
        ("https://api.openai.com/v1", "api.openai.com", 443, "https", "/v1"),
        ("wss://example.com:8443/x/", "example.com", 8443, "https", "/x/"),
        ("HTTPS://example.com", "example.com", 443, "https", "/v1"),
        ("localhost:9000", "localhost", 9000, "http", "/v1"),
        ("localhost:9000/v2", "localhost", 9000, "http", "/v2"),
        ("[::1]:9000", "::1", 9000, "http", "/v1"), ("http://[::1]/v1", "::1", 80, "http", "/v1"),
    ])
    func anUpstreamIsAURLOrAHostAndAPort(
        _ text: String, host: String, port: Int, scheme: String, path: String
    ) throws {
        let upstream = try ServeUpstream(text)
        #expect(upstream.endpoint == .init(host: host, port: port))
        #expect(upstream.scheme == scheme)
        #expect(upstream.path == path)
    }

    @Test(arguments: [
        "", "localhost", "http://", "://x", "http:///v1", "localhost:0", "localhost:65536", "localhost:x", ":80",
        "[::1:80", "::1:80", "http://user@host/", "http://host/?q=1", "http://host/#f", "ftp://host/", "htps://host",
        "http://a b/", "http://[::1]x/",
    ])
    func invalidUpstreamIsAUsageError(_ text: String) {
        #expect(message { _ = try ServeUpstream(text) }?.hasPrefix("option --upstream ") == true)
    }

    @Test func anUnknownSchemeSuggestsTheNearest() {
        #expect(
            message { _ = try ServeUpstream("htps://host") }
                == "option --upstream takes no htps URL; did you mean https?")
    }
}

@Suite struct ServeProxyOptionsTests {
    private func options(_ words: String...) throws -> ServeOptions {
        try ServeOptions(ArgumentParser(ServeCommand.syntax).parse(words))
    }

    private func withFile(_ content: String, _ body: (String) throws -> Void) throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "chappie-test-\(UUID().uuidString).json")
        try Data(content.utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        try body(url.path())
    }

    @Test func proxyRunsOnlyWhenRequested() throws {
        #expect(try self.options().plan == nil)
        #expect(try self.options("--upstream", "localhost:1").plan == .init())
        #expect(try self.options("--fault", "cut@1", "--fault", "refuse#2").plan?.faults.count == 2)
        #expect(try self.options("--scenario", "ok").plan == nil)
    }

    @Test func aScenarioFileAndTheCommandLineAddUp() throws {
        let file =
            #"{"name":"x","summary":"y","server":{"faults":[]},"#
            + #""proxy":{"faults":[{"action":{"cut":{"atByte":4}}}]}}"#
        try self.withFile(file) { path in
            let plan = FaultProxy.Plan([.init(.cut(atByte: 4)), .init(.refuse)])
            #expect(try self.options("--scenario", path, "--fault", "refuse").plan == plan)
            let options = try self.options("--upstream", "localhost:1", "--scenario", path, "--fault", "refuse")
            #expect(options.plan == plan)
            #expect(options.configuration.faults.isEmpty)
        }
        // The test server's part of a file is of no interest to another server.
        try self.withFile(#"{"proxy":{"faults":[]}}"#) { path in
            let options = try self.options("--upstream", "localhost:1", "--scenario", path)
            #expect(options.plan == .init())
        }
    }

    @Test func wrongPlansNameTheirMember() throws {
        let file =
            #"{"name":"x","summary":"y","server":{"faults":[]},"proxy":{"faults":[{"action":{"cut":{}}}]}}"#
        try self.withFile(file) { path in
            #expect(
                message { _ = try self.options("--scenario", path) }
                    == "\(path) is not a scenario: proxy.faults[0].action.cut.atByte is missing")
        }
        // The part of a scenario that another server gets is checked as a whole, too.
        try self.withFile(#"{"proxi":1,"proxy":{"faults":[{"action":{"cut":{"atByte":-1}}},{"acton":1}]}}"#) { path in
            #expect(
                message { _ = try self.options("--upstream", "localhost:1", "--scenario", path) }
                    == "\(path) is not a scenario: proxi is unknown; did you mean proxy? "
                    + "proxy.faults[0].action.cut.atByte must be at least 0. proxy.faults[1].acton is unknown; did you "
                    + "mean action? proxy.faults[1].action is missing")
        }
        try self.withFile(#"{"name":"x","summary":"y","server":{"faults":[]}}"#) { path in
            #expect(
                message { _ = try self.options("--upstream", "localhost:1", "--scenario", path) }
                    == "\(path) says nothing about a proxy; --upstream needs a file with a 'proxy' member")
        }
    }

    @Test(arguments: [["--rate", "1"], ["--tls"], ["--compress"], ["--recording", "x"], ["--tls", "--ca-out", "x"]])
    func testServerOptionsAreRefusedWithAnUpstream(_ words: [String]) {
        let parsed = message {
            _ = try ServeOptions(
                ArgumentParser(ServeCommand.syntax).parse(["--upstream", "localhost:1"] + words))
        }
        #expect(parsed?.hasSuffix("is for the test server, not for --upstream") == true)
    }

    @Test func theAddressThatIsPrintedHasTheUpstreamsSchemeAndPath() throws {
        for (upstream, prefix, path) in [
            ("https://127.0.0.1:9/x", "https", "/x"), ("ws://127.0.0.1:9", "http", "/v1"),
        ] {
            let service = try ServeService(try self.options("--upstream", upstream), logLine: nil)
            defer { service.stop() }
            #expect(service.baseURL.hasPrefix("\(prefix)://127.0.0.1:"))
            #expect(service.baseURL.hasSuffix(path))
        }
        let service = try ServeService(try self.options("--fault", "refuse", "--tls"), logLine: nil)
        defer { service.stop() }
        #expect(service.baseURL.hasPrefix("https://127.0.0.1:"))
        #expect(service.caPEM?.isEmpty == false)
    }
}
