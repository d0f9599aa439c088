// The table at the end.
//
// Pure: results in, text out.

/// Prints results.
enum TortureTable {
    private static let titles = [
        "session", "wire", "offsets", "runs", "recovered", "diverged", "contradicted", "before cut", "stalls",
        "violations",
    ]

    /// A row for each session and wire, the totals, and the verdict.
    static func text(_ plan: TorturePlan, _ state: TortureState, wires: [Wire]) -> String {
        var rows = [self.titles]
        var total = Tally()
        for part in plan.parts {
            for wire in wires {
                let name = "\(part.session)/\(wire.rawValue)"
                var tally = Tally()
                for (key, row) in state.rows where key.hasPrefix(name + "/") { tally.add(row.tally) }
                total.add(tally)
                rows.append([part.session, wire.rawValue] + self.cells(plan.offsetCounts[name] ?? 0, tally))
            }
        }
        let offsets = plan.offsetCounts.values.reduce(0, +)
        rows.append(["all", ""] + self.cells(offsets, total))
        total.violations[Violation.Kind.leak.rawValue, default: 0] += state.leaks
        let totals = Violation.Kind.allCases.map { "\($0.rawValue): \(total.violations[$0.rawValue] ?? 0)" }
        return self.aligned(rows) + "\n" + totals.joined(separator: ", ")
    }

    private static func cells(_ offsets: Int, _ tally: Tally) -> [String] {
        let counts = [
            offsets, tally.runs, tally.recovered, tally.diverged, tally.contradicted, tally.deliveredBeforeCut,
            tally.stalls, tally.violations.values.reduce(0, +),
        ]
        return counts.map(String.init)
    }

    private static func aligned(_ rows: [[String]]) -> String {
        let widths = self.titles.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return column < 2 ? cell + padding : padding + cell
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
