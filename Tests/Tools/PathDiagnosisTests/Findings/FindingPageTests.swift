// The page with every fault and its remedies.
import Foundation
import Testing

@testable import PathDiagnosis

@Suite struct FindingPageTests {
    private static func page() throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../../../..").standardizedFileURL
        let path = "Sources/Tools/ChappieDiagnosis/ChappieDiagnosis.docc/Findings.md"
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The heading of each step's table.
    private static func heading(of step: ChappieDiagnosis.Step) -> String {
        switch step {
        case .environment: "The process and its settings"
        case .resolve: "Name resolution"
        case .connect: "TCP"
        case .proxy: "The proxy"
        case .tls: "TLS"
        case .http: "HTTP"
        case .credential: "The credential"
        case .webSocket: "The WebSocket"
        case .compression: "Compression"
        case .earlyClose: "The moment after the handshake"
        case .messages: "Messages"
        case .pings: "Pings"
        case .eventStream: "Event streams"
        case .idle: "Idle connections"
        }
    }

    private static func words(of effect: PathFinding.Effect) -> String {
        switch effect {
        case .everything: "no turn is possible"
        case .http: "no HTTP"
        case .doubt: "not known"
        case .webSocket: "no WebSocket"
        case .quality: "a defect"
        case .hint: "a remark"
        }
    }

    /// The rows below a heading of the page.
    private static func rows(below heading: String) throws -> [Substring] {
        let sections = try Self.page().split(separator: "\n### ")
        let section = try #require(sections.first { $0.hasPrefix(heading + "\n") }, "no section \(heading)")
        return section.split(separator: "\n").filter { $0.hasPrefix("| ") }
    }

    /// Each fault with its effect and its remedies, in the order of the code, and no other.
    @Test(arguments: ChappieDiagnosis.Step.allCases)
    func theTableOfAStepHasItsFaultsWithTheirRemedies(step: ChappieDiagnosis.Step) throws {
        let expected = PathFinding.allCases.filter { $0.row.step == step }.map { finding in
            let row = finding.row
            let remedies = row.remedies.joined(separator: " ")
            return "| `\(finding.rawValue)` | \(row.clause) | \(Self.words(of: row.effect)) | \(remedies) |"
        }
        let rows = try Self.rows(below: Self.heading(of: step)).dropFirst().map(String.init)
        #expect(rows == expected)
    }

    @Test func thePageHasNoOtherFault() throws {
        let names = try Self.page().split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(names.count == PathFinding.allCases.count)
    }

    @Test func everyReasonForASkippedStepIsOnThePage() throws {
        let rows = try Self.rows(below: "Steps that were not examined").dropFirst()
        let reasons = rows.map { String($0.dropFirst(2).prefix { $0 != "|" }.dropLast()) }
        #expect(reasons == SkipReason.allCases.map(\.words))
    }
}
