// The sizes of the messages, in the report and on the pages.
import Foundation
import PathDiagnosis
import Testing

@testable import ChappieDiagnosis

@Suite struct MessageSizeTests {
    private static let words = "63 KiB and 1 MiB"

    /// A size that is rounded for the report is not the measured one.
    @Test func reportStatesTheExactSizesOfTheMessages() {
        let sizes = ExaminationPace.messageByteCounts
        #expect(sizes.count == 2 && sizes.allSatisfy { $0 % 1_024 == 0 })
        var facts = PathFacts()
        facts.messages = .found(.init(sizes.map { .init(byteCount: $0, echo: .returned(.milliseconds(1))) }))
        let result = PathJudge(facts).report.result(of: .messages)
        #expect(result?.words == "\(Self.words) return unchanged")
    }

    @Test(arguments: [
        "Documentation/CommandLine.md", "Documentation/Subsystems/Diagnosis.md",
        "Sources/Tools/ChappieDiagnosis/ChappieDiagnosis.docc/ChappieDiagnosis.md",
    ])
    func documentationStatesTheSizesOfTheMessages(path: String) throws {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
        let page = try String(contentsOf: root.appending(path: path), encoding: .utf8)
        #expect(page.contains("messages of \(Self.words)"))
    }
}
