// The arguments of `chappie serve`, and files of scenarios and recordings.
import ChappieTestServer
import Foundation
import Testing

@testable import ChappieCommand

private func configuration(_ words: String...) throws(UsageError) -> ChappieTestServer.Configuration {
    try ServeOptions(ArgumentParser(ServeCommand.syntax).parse(words)).configuration
}

/// Runs a closure with a file that exists until it returns.
private func withFile(_ content: String, _ body: (String) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "chappie-test-\(UUID().uuidString).json")
    try Data(content.utf8).write(to: url)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url.path())
}

@Suite struct ServeOptionsTests {
    @Test func thePortIsChecked() throws {
        #expect(try configuration().port == 0)
        #expect(try configuration("--port", "65535").port == 65_535)
        #expect(throws: UsageError.self) { try configuration("--port", "65536") }
        #expect(throws: UsageError.self) { try configuration("--port", "-1") }
    }

    @Test func everyBuiltInScenarioIsFoundByItsName() throws {
        for scenario in ChappieTestServer.builtInScenarios {
            #expect(try configuration("--scenario", scenario.name).faults == scenario.faults)
        }
    }

    @Test func aScenarioIsReadFromAFile() throws {
        let scenario = ChappieTestServer.Scenario(
            name: "mine", summary: "…", faults: [.init(.cutAfterEvent(event: 3))], eventsPerSecond: 5)
        try withFile(scenario.jsonText) { path in
            let made = try configuration("--scenario", path)
            #expect(made.faults == scenario.faults)
            #expect(made.eventsPerSecond == 5)
            #expect(try configuration("--scenario", path, "--rate", "8").eventsPerSecond == 8)
        }
    }

    @Test func wrongScenariosAreUsageErrors() throws {
        #expect(throws: UsageError("there is no scenario and no file replay-dif; did you mean replay-diff?")) {
            try configuration("--scenario", "replay-dif")
        }
        try withFile("not JSON") { path in
            #expect(throws: UsageError.self) { try configuration("--scenario", path) }
        }
        try withFile("{\"name\":\"x\",\"summary\":\"y\"}") { path in
            #expect(throws: UsageError("\(path) is not a scenario: server is missing")) {
                try configuration("--scenario", path)
            }
        }
        let text = #"{"name":"x","sumary":"y","server":{"faults":[{"firstAttemt":1,"action":{"cutAfterEvnt":{}}}]}}"#
        try withFile(text) { path in
            let faults =
                "sumary is unknown; did you mean summary? server.faults[0].firstAttemt is unknown; did you mean "
                + "firstAttempt? server.faults[0].action.cutAfterEvnt is unknown; did you mean cutAfterEvent? "
                + "summary is missing"
            #expect(throws: UsageError("\(path) is not a scenario: \(faults)")) {
                try configuration("--scenario", path)
            }
        }
    }

    @Test func textOfAFileIsTheOnlyAnswer() throws {
        try withFile(#"{"name":"Oslo"}"#) { path in
            guard case .scripted(let model) = try configuration("--text", path).model else {
                Issue.record("the model is not scripted")
                return
            }
            #expect(model.text == #"{"name":"Oslo"}"# && !model.includesReasoning && !model.callsTools)
            #expect(throws: UsageError("options --text and --recording exclude each other")) {
                try configuration("--text", path, "--recording", path)
            }
            #expect(throws: UsageError("option --text is for the test server, not for --upstream")) {
                try configuration("--text", path, "--upstream", "http://127.0.0.1:9")
            }
        }
        #expect(throws: UsageError.self) { try configuration("--text", "/nonexistent/file") }
    }

    @Test func recordingsAreReadInOrder() throws {
        try withFile("{\"type\":\"a\"}\r\n\n{\"type\":\"b\"}\n") { path in
            guard case .recordings(let recordings) = try configuration("--recording", path, "--recording", path).model
            else {
                Issue.record("the model is not a recording")
                return
            }
            #expect(
                recordings == [["{\"type\":\"a\"}", "{\"type\":\"b\"}"], ["{\"type\":\"a\"}", "{\"type\":\"b\"}"]])
        }
    }

    @Test func wrongRecordingsAreUsageErrors() throws {
        #expect(throws: UsageError.self) { try configuration("--recording", "/nonexistent/file") }
        try withFile("") { path in #expect(throws: UsageError.self) { try configuration("--recording", path) } }
        try withFile("{}\ndata: x\n") { path in
            #expect(throws: UsageError("\(path) has something other than a JSON object in line 2")) {
                try configuration("--recording", path)
            }
        }
    }

    @Test func compressionAndTLSAreOffUnlessAskedFor() throws {
        #expect(try configuration().tls == nil)
        #expect(try configuration().messageCompression == .off)
        #expect(try configuration("--tls").tls?.certificate == .valid)
        #expect(try configuration("--compress").messageCompression == .deflate(.init()))
        #expect(try configuration("--compress").contentCoding == .gzip)
    }
}
