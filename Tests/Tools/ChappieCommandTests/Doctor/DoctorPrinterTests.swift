// The report of an examination as text, as settings, and as JSON.
import Chappie
import ChappieDiagnosis
import ChappieTransport
import Foundation
import PathDiagnosis
import Testing

@testable import ChappieCommand

private func printer(width: Int = 80, isFull: Bool = false, isUTF8: Bool = true) -> DoctorPrinter {
    DoctorPrinter(
        style: TerminalStyle(isColored: false), width: width, isUTF8: isUTF8, isFull: isFull,
        subject: "https://api.example.com")
}

/// A path on which the upgrade is not answered.
private let facts: PathFacts = {
    var facts = PathFacts()
    facts.environment.time = StepTime(start: .zero, duration: .milliseconds(1))
    facts.resolution = .found(
        .init(addresses: ["192.0.2.1"]), .init(start: .milliseconds(1), duration: .milliseconds(99)))
    facts.connection = .found(
        .init(raced: .connected(.milliseconds(20))), .init(start: .milliseconds(100), duration: .milliseconds(100)))
    facts.tls = .found(
        .init(.established(version: "TLSv1.3", protocol: nil, issuer: "CN=R3")),
        .init(start: .milliseconds(200), duration: .milliseconds(200)))
    facts.http = .found(
        .init(.answered(.init(statusCode: 200))), .init(start: .milliseconds(400), duration: .milliseconds(400)))
    facts.credential = .skipped(.noCredential)
    facts.upgrade = .found(.init(.timedOut), .init(start: .milliseconds(800), duration: .milliseconds(800)))
    facts.eventStream = .skipped(.needsProbe)
    return facts
}()

extension PathFacts {
    /// Returns the facts of a path whose server sends this certificate without its issuer's.
    fileprivate func rejected(_ certificate: CertificateChain.Certificate) -> Self {
        var facts = self
        facts.tls = .found(
            .init(
                .certificate(.unknownIssuer, issuer: certificate.issuer),
                chain: .init([certificate], rejectedDepth: 0)))
        return facts
    }
}

@Suite struct DoctorPrinterTests {
    @Test func aReportIsASentenceItsCausesAndATable() {
        let lines = printer().text(PathJudge(facts).report).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0] == "HTTP works, but WebSockets do not: the upgrade is not answered.")
        #expect(lines[1] == "https://api.example.com")
        // The first line has the cause's sentence.
        #expect(lines[3] == "1. web-socket.no-answer")
        #expect(lines[4] == "   seen: no answer in time")
        #expect(lines[5] == "   try:  Use HTTP alone (--http-only), which the engine does by itself after its")
        #expect(lines[6] == "         attempts.")
        #expect(lines.contains("Set: --http-only"))
        #expect(lines.contains("resolve     ok       █                1 IPv4, 0 IPv6"))
        #expect(lines.contains("webSocket   FAILED           ████████ no answer in time"))
        #expect(lines.contains("idle        skipped                   was not asked for"))
    }

    @Test func stepsThatAreSkippedForOneReasonAreOneRow() {
        let lines = printer().text(PathJudge(facts).report).split(separator: "\n")
        #expect(lines.contains("compression to pings  skipped         an earlier step failed"))
        #expect(!lines.contains { $0.hasPrefix("earlyClose") || $0.hasPrefix("pings ") })
        // Two are not worth it, and each row says all of its words.
        #expect(lines.contains("eventStream skipped                   needs a probe server there: chappie serve"))
        #expect(lines.contains("                                      --probe"))
    }

    @Test func causeMissingInTheVerdictIsPrintedWithItsSentence() {
        var both = facts
        both.connection = .found(
            .init(raced: .connected(.milliseconds(2)), version4: .connected(.milliseconds(2)), version6: .timedOut))
        let text = printer().text(PathJudge(both).report)
        #expect(text.contains("\n1. web-socket.no-answer\n"))
        #expect(
            text.contains(
                "\n2. connect.ipv6-silent: IPv6 to the server is dropped on the path, while IPv4\n   works.\n"))
    }

    @Test func narrowTerminalsHaveShortBarsAndWholeWords() {
        var probed = facts
        probed.upgrade = .found(.init(.established, isCompressed: true))
        probed.pings = .found(
            .init(sentCount: 10, roundTrips: Array(repeating: .microseconds(200), count: 10)),
            .init(start: .milliseconds(800), duration: .milliseconds(800)))
        let lines = printer(width: 60).text(PathJudge(probed).report).split(separator: "\n")
        #expect(lines.contains("pings       ok           ████ p50 under 1 ms, p90 under 1"))
        #expect(lines.contains("                              ms, 10 of 10 answered"))
    }

    @Test func wordsLongerThanALineAreDivided() {
        var inspected = facts
        let name = String(repeating: "n", count: 150)
        inspected.tls = .found(.init(.certificate(.unknownIssuer, issuer: name)))
        let text = printer(width: 60).text(PathJudge(inspected).report)
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 60 })
        #expect(text.count { $0 == "n" } > 300)
    }

    @Test(arguments: [20, 60, 80, 200]) func linesFitTheTerminal(width: Int) {
        for line in printer(width: width).text(PathJudge(facts).report).split(separator: "\n") {
            #expect(line.count <= min(max(width, 60), 100), "\(line)")
        }
    }

    @Test func namesAndAddressesAreInTheFullReportAlone() {
        let report = PathJudge(facts).report
        #expect(!printer().text(report).contains("192.0.2.1"))
        #expect(printer(isFull: true).text(report).contains("\n            192.0.2.1\n"))
        #expect(!DoctorJSON.line(report, isFull: false).contains("192.0.2.1"))
        #expect(DoctorJSON.line(report, isFull: true).contains(#""full":["192.0.2.1"]"#))
    }

    /// The issuer is an organisation, and the subject may be a machine.
    @Test func theSubjectsOfCertificatesAreInTheFullReportAlone() {
        var changed = facts
        let own = CertificateChain.Certificate(
            subject: "CN=inner.example", issuer: "CN=R3", timeLeft: .seconds(60 * 86_400), locatesIssuer: true)
        changed.tls = .found(
            .init(.established(version: "TLSv1.3", protocol: nil, issuer: "CN=R3"), chain: .init([own])))
        for facts in [changed, changed.rejected(own)] {
            let report = PathJudge(facts).report
            #expect(!printer().text(report).contains("inner.example"))
            #expect(printer(isFull: true).text(report).contains("\n            certificate 1: CN=inner.example,"))
            #expect(!DoctorJSON.line(report, isFull: false).contains("inner.example"))
            let line = #""certificate 1: CN=inner.example, issued by CN=R3, valid for 60 days"]"#
            #expect(DoctorJSON.line(report, isFull: true).contains(line))
        }
    }

    @Test func theJSONHasTheCausesAndTheAdvice() {
        let line = DoctorJSON.line(PathJudge(facts).report, isFull: false)
        #expect(line.hasPrefix(#"{"type":"diagnosis","verdict":"degraded","sentence":"HTTP works, but "#))
        #expect(line.contains(#""causes":[{"name":"web-socket.no-answer","step":"webSocket","#))
        #expect(line.contains(#"{"step":"tls","outcome":"ok","words":"TLSv1.3","start":0.2,"duration":0.2}"#))
        #expect(line.hasSuffix(#""advice":{"httpOnly":true,"offersCompression":true,"variables":[]}}"# + "\n"))
    }

    @Test func suggestedSettingsFollowTheAdvice() {
        #expect(
            DoctorSuggestion.text(PathJudge(facts).report) == """
                # command line
                chappie stream --http-only PROMPT

                // Swift: ChappieTransportConfiguration
                configuration.policy = .httpSSEOnly

                """)
        var inspected = facts
        inspected.tls = .found(.init(.certificate(.unknownIssuer, issuer: "CN=Web Proxy")))
        inspected.http = .skipped(.notReached)
        inspected.upgrade = .skipped(.notReached)
        #expect(
            DoctorSuggestion.text(PathJudge(inspected).report)
                == "# shell: set or correct\nexport SSL_CERT_FILE=FILE.pem\n")
        var healthy = facts
        healthy.upgrade = .found(.init(.established))
        #expect(DoctorSuggestion.text(PathJudge(healthy).report) == "The defaults fit.\n")
        var refused = inspected
        refused.connection = .found(.init(raced: .refused))
        refused.tls = .skipped(.notReached)
        #expect(
            DoctorSuggestion.text(PathJudge(refused).report)
                == "There is nothing to set. The server's machine refuses connections on this port. "
                + "Check the port in the base URL, and that the server runs.\n")
    }

    @Test(arguments: [(.works, 0), (.degraded, 75), (.fails, 69)] as [(ChappieDiagnosis.Verdict, Int32)])
    func theExitCodeFollowsFromTheVerdict(verdict: ChappieDiagnosis.Verdict, code: Int32) {
        #expect(ExitCode(verdict).rawValue == code)
    }
}

@Suite struct DoctorOptionsTests {
    private static func options(
        _ words: [String], _ environment: [String: String] = [:]
    ) throws -> DoctorOptions {
        try DoctorOptions(try ArgumentParser(DoctorCommand.syntax).parse(words), environment: environment)
    }

    @Test func theSubjectHasNoSecret() throws {
        let options = try Self.options(["https://user:word@api.example.com:8443/v1?key=word"])
        #expect(options.subject == "https://api.example.com:8443")
        #expect(options.form == .text && options.extent == .whole && !options.isFull)
    }

    @Test func serverFromTheEnvironmentIsNamedOnlyInFullReports() throws {
        let environment = ["CHAPPIE_BASE_URL": "http://inner.example/v1"]
        #expect(try Self.options([], environment).subject == "the server of CHAPPIE_BASE_URL")
        #expect(try Self.options(["--full"], environment).subject == "http://inner.example")
        #expect(try Self.options([]).subject == "https://api.openai.com")
    }

    // MARK: Accounts

    @Test func anAccountIsUsedAsByStream() throws {
        func usesAccount(_ words: [String], _ environment: [String: String] = [:]) throws -> Bool {
            DoctorOptions.usesAccount(
                try ArgumentParser(DoctorCommand.syntax).parse(words), environment: environment)
        }
        #expect(try usesAccount([]))
        #expect(try usesAccount([], ["OPENAI_API_KEY": "", "CHAPPIE_BASE_URL": ""]))
        #expect(try usesAccount(["--account", "work", "https://g/v1"], ["OPENAI_API_KEY": "k"]))
        #expect(try !usesAccount(["https://g/v1"]))
        #expect(try !usesAccount([], ["CHAPPIE_BASE_URL": "https://b/v1"]))
        #expect(try !usesAccount([], ["OPENAI_API_KEY": "k"]))
        #expect(try !usesAccount(["--api-key", "k"]))
    }

    /// The token of an account goes to its own server, or to the one that was typed beside it.
    @Test func theServerOfAnAccountIsItsOwnUnlessOneIsTyped() throws {
        func url(_ words: [String], _ environment: [String: String] = [:]) throws -> String {
            let arguments = try ArgumentParser(DoctorCommand.syntax).parse(words)
            let account = ChappieConfiguration(harness: .none, endpoint: .chatGPT)
            return try DoctorOptions(arguments, environment: environment, account: account)
                .configuration.baseURL.absoluteString
        }
        let own = ChappieEndpoint.chatGPT.baseURL.absoluteString
        #expect(try url([]) == own)
        #expect(try url(["--account", "work"], ["CHAPPIE_BASE_URL": "https://b/v1"]) == own)
        #expect(try url(["--account", "work", "https://g/v1"]) == "https://g/v1")
        let words = try ArgumentParser(DoctorCommand.syntax).parse(["--account", "work"])
        let options = try DoctorOptions(
            words, environment: ["CHAPPIE_BASE_URL": "https://b/v1"],
            account: ChappieConfiguration(harness: .none, endpoint: .chatGPT))
        #expect(options.subject == "https://chatgpt.com")
    }

    @Test func anAccountAndAKeyExcludeEachOther() {
        #expect(throws: UsageError("--account and --api-key exclude each other")) {
            try Self.options(["--account", "work", "--api-key", "k"])
        }
    }

    @Test func jsonAndSuggestExcludeEachOther() {
        #expect(throws: UsageError.self) { try Self.options(["--json", "--suggest"]) }
        #expect(throws: UsageError.self) { try Self.options(["api.example.com"]) }
    }
}
