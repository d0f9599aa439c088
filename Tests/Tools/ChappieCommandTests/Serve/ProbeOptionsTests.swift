// The options of `chappie serve --probe`, and the silences of `chappie doctor`.
import ChappieTestServer
import Testing

@testable import ChappieCommand

@Suite struct ProbeOptionsTests {
    private static func options(_ words: [String]) throws -> ProbeOptions {
        try ProbeOptions(try ArgumentParser(ServeCommand.syntax).parse(["--probe"] + words))
    }

    @Test func probeServerListensOnLoopbackByDefault() throws {
        #expect(try Self.options([]).configuration.address == "127.0.0.1")
        #expect(try Self.options(["--listen", "0.0.0.0", "--port", "80"]).configuration.address == "0.0.0.0")
        #expect(try Self.options(["--listen", "::"]).configuration.address == "::")
        #expect(try Self.options(["--port", "80"]).configuration.port == 80)
    }

    @Test(arguments: [
        ["--listen", "example.com"], ["--scenario", "calm"], ["--upstream", "http://127.0.0.1:1/v1"], ["--guard"],
        ["--fault", "cut@1"], ["--ca-out", "ca.pem"], ["--port", "70000"],
    ])
    func otherOptionsAreRefused(words: [String]) {
        #expect(throws: UsageError.self) { try Self.options(words) }
    }

    @Test(
        arguments: [
            ("30", [30]), ("1,600", [1, 600]), ("30,60,120,300", [30, 60, 120, 300]),
        ] as [(String, [Int])])
    func holdOptionReadsAListOfSilences(text: String, seconds: [Int]) throws {
        let arguments = try ArgumentParser(DoctorCommand.syntax).parse(["--hold", text])
        #expect(try DoctorOptions(arguments, environment: [:]).holds == seconds.map { .seconds($0) })
    }

    @Test(arguments: [
        ("http://[::1]:18080/v1", "http://[::1]:18080"), ("https://[2001:DB8::1]/v1", "https://[2001:DB8::1]"),
        ("HTTPS://host:8443/v1?a=b", "https://host:8443"),
    ])
    func theExaminedServerIsAsItWasTyped(url: String, subject: String) throws {
        let arguments = try ArgumentParser(DoctorCommand.syntax).parse([url])
        #expect(try DoctorOptions(arguments, environment: [:]).subject == subject)
    }

    @Test(arguments: ["", "0", "601", "30,", "a", "1.5", "1,2,3,4,5,6,7,8,9", "-1"])
    func silencesBeyondTheLimitsAreRefused(text: String) throws {
        let arguments = try ArgumentParser(DoctorCommand.syntax).parse(["--hold=\(text)"])
        #expect(throws: UsageError.self) { try DoctorOptions(arguments, environment: [:]) }
    }
}
