// The printed settings, read back as the command line reads them, beside the engine's policy for the same report.
import Chappie
import ChappieDiagnosis
import ChappieTransport
import Foundation
import PathDiagnosis
import Testing

@testable import ChappieCommand

@Suite struct SuggestedSettingTests {
    /// Faults of a path, of which each leads to a setting of its own.
    struct Path: Sendable {
        var losesMessages = false
        var breaksCompression = false
        var cutsAfter: Duration?

        static let all: [Self] = [false, true].flatMap { losesMessages in
            [false, true].flatMap { breaksCompression in
                [nil, .seconds(1), .seconds(61)].map { cut in
                    Self(losesMessages: losesMessages, breaksCompression: breaksCompression, cutsAfter: cut)
                }
            }
        }

        var report: ChappieDiagnosis.Report {
            var facts = PathFacts()
            facts.http = .found(.init(.answered(.init(statusCode: 200))))
            facts.upgrade = .found(.init(.established, worksUncompressed: self.breaksCompression ? true : nil))
            if self.losesMessages {
                facts.messages = .found(.init([.init(byteCount: 1 << 20, echo: .closed(code: 1006))]))
            }
            if let cut = self.cutsAfter {
                facts.idle = .found(.init([.init(asked: .seconds(300), isWebSocket: true, cut: cut)]))
            }
            return PathJudge(facts).report
        }
    }

    /// Reads the printed options with the parser of `chappie stream`.
    private static func configuration(of text: String) throws -> ChappieConfiguration {
        let line = text.split(separator: "\n").first { $0.hasPrefix("chappie stream ") }
        let words = (line ?? "chappie stream PROMPT").split(separator: " ").dropFirst(2).map(String.init)
        let options = try StreamOptions(ArgumentParser(StreamCommand.syntax).parse(words), environment: [:])
        return options.configuration(baseURL: try #require(URL(string: "http://127.0.0.1:1/v1")))
    }

    @Test(arguments: Path.all) func suggestedOptionsAgreeWithPolicyAndAdvice(path: Path) throws {
        let report = path.report
        let advice = report.advice
        #expect(advice.usesHTTPOnly == path.losesMessages && advice.disablesCompression == path.breaksCompression)
        #expect((advice.pingInterval != nil) == (path.cutsAfter != nil))
        let read = try Self.configuration(of: DoctorSuggestion.text(report))
        #expect(read.streamingTransportPolicy == ChappieStreamingTransportPolicy(suggestedBy: report))
        #expect(read.offersCompression == !advice.disablesCompression)
        #expect(read.timeouts.pingInterval == advice.pingInterval ?? ChappieTimeouts().pingInterval)
    }

    @Test(arguments: Path.all) func suggestedStatementsAndOptionsSetEqualValues(path: Path) throws {
        let text = DoctorSuggestion.text(path.report)
        let read = try Self.configuration(of: text)
        var expected: [Substring] = []
        if read.streamingTransportPolicy == .httpSSEOnly { expected.append("configuration.policy = .httpSSEOnly") }
        if !read.offersCompression { expected.append("configuration.offersCompression = false") }
        if let interval = read.timeouts.pingInterval, interval != ChappieTimeouts().pingInterval {
            let seconds = interval.components.seconds
            expected.append("configuration.timeouts.pingInterval = .seconds(\(seconds))")
        }
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("configuration.") } == expected)
    }

    @Test func theLineOfSettingsHasTheOptionsAndTheVariables() {
        let path = Path(losesMessages: true, breaksCompression: true, cutsAfter: .seconds(61))
        #expect(DoctorSuggestion.words(path.report.advice) == "--http-only, --no-compression, --ping-interval 30")
        #expect(DoctorSuggestion.words(Path().report.advice).isEmpty)
    }
}
