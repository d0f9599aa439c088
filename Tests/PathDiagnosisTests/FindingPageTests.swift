// The page with every fault and its remedies.
import Foundation
import PathDiagnosis
import Testing

@Suite struct FindingPageTests {
    private static func page() throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
        let path = "Sources/ChappieDiagnosis/ChappieDiagnosis.docc/Findings.md"
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func everyFaultIsOnThePageWithItsRemedies() throws {
        let page = try Self.page()
        for finding in PathFinding.allCases {
            let row = finding.row
            let line = "| `\(finding.rawValue)` | \(row.clause) | "
            #expect(page.contains(line), "\(finding)")
            #expect(page.contains(" | \(row.remedies.joined(separator: " ")) |\n"), "\(finding)")
        }
    }

    @Test func thePageHasNoOtherFault() throws {
        let names = try Self.page().split(separator: "\n").filter { $0.hasPrefix("| `") }
        #expect(names.count == PathFinding.allCases.count)
    }
}
