// The used part of an account's limits, as bars for people and as a JSON line. Pure.
import Chappie
import PlatformFoundation

/// Formats usage.
struct UsagePrinter {
    /// The colour and weight of text.
    let style: TerminalStyle
    /// The number of columns of a line; nil where the output is not a terminal, and there are no bars then.
    let width: Int?
    /// Indicates whether characters beyond ASCII can be shown.
    let isUTF8: Bool
    /// The current time.
    let time: TimeText

    private static let longestBar = 16
    private static let shortestBar = 4

    /// The cells of one window in a line.
    private struct Row {
        let label: String
        let usedPercent: Double
        let percent: String
        let reset: String
    }

    /// Returns all known limits.
    func text(_ usage: ChappieUsage) -> String {
        var blocks = [usage.planType.map { "plan  " + self.style.bold($0.onOneLine(limit: 200)) + "\n" } ?? ""]
        if let limit = usage.limit { blocks.append(self.text(limit)) }
        for (name, limit) in usage.additionalLimits.sorted(by: { $0.key < $1.key }) {
            blocks.append(self.style.bold(name.onOneLine(limit: 200)) + "\n" + self.text(limit))
        }
        if let credits = usage.credits.flatMap(Self.words(for:)) { blocks.append("credits  \(credits)\n") }
        let text = blocks.filter { !$0.isEmpty }.joined(separator: self.width == nil ? "" : "\n")
        return text.isEmpty ? "The server names no limits.\n" : text
    }

    private func text(_ limit: ChappieUsage.Limit) -> String {
        let rows = [limit.primary, limit.secondary].compactMap(\.self).map(self.row)
        var text = rows.map { self.line($0, of: rows) + "\n" }.joined()
        if limit.isReached || !limit.isAllowed {
            text += self.style.red("The limit is reached: requests are refused for now.") + "\n"
        }
        return text.isEmpty ? "no windows\n" : text
    }

    private func row(_ window: ChappieUsageLimitWindow) -> Row {
        // A million days: a longer window is implausible.
        let label = window.windowMinutes.flatMap { minutes in
            minutes > 0 ? TimeText.length(seconds: min(minutes, 1_440_000_000) * 60) : nil
        }
        return Row(
            label: label ?? "limit", usedPercent: window.usedPercent, percent: Self.percent(window.usedPercent),
            reset: window.resetsAt.map(self.reset) ?? "")
    }

    private func reset(_ date: Date) -> String {
        guard let clock = self.time.clockWords(date) else { return "" }
        guard let until = self.time.untilWords(date) else { return "has begun anew (\(clock))" }
        return "resets in \(until) (\(clock))"
    }

    /// Returns a line whose columns are aligned with the other rows; cells without room are left out, from the end of
    /// the line.
    private func line(_ row: Row, of rows: [Row]) -> String {
        func widest(_ text: (Row) -> String) -> Int { rows.map { text($0).count }.max() ?? 0 }
        let label = row.label + String(repeating: " ", count: widest(\.label) - row.label.count)
        let percent = String(repeating: " ", count: widest(\.percent) - row.percent.count) + row.percent
        let core = label.count + 2 + percent.count
        let tail = row.reset.isEmpty ? "" : "  " + row.reset
        guard let width = self.width else { return label + "  " + percent + tail }
        // The bar of every row is as long as the longest row allows.
        let reset = widest(\.reset) == 0 ? 0 : widest(\.reset) + 2
        let hasReset = core + reset + 2 + Self.shortestBar <= width
        let room = min(Self.longestBar, width - core - 2 - (hasReset ? reset : 0))
        let bar = room >= Self.shortestBar ? self.bar(row.usedPercent, length: room) + "  " : ""
        return label + "  " + bar + percent + (hasReset ? tail : "")
    }

    private func bar(_ percent: Double, length: Int) -> String {
        let part = min(max(percent / 100, 0), 1) * Double(length)
        // A bar is full only at 100 %, and empty only at 0 %.
        let isPartial = percent > 0 && percent < 100
        let filled = isPartial ? min(max(Int(part.rounded()), 1), length - 1) : Int(part)
        let (full, empty) = self.isUTF8 ? ("█", "░") : ("#", "-")
        let text = String(repeating: full, count: filled)
        let mark = percent >= 90 ? self.style.red(text) : self.style.green(text)
        return mark + self.style.dim(String(repeating: empty, count: length - filled))
    }

    private static func percent(_ value: Double) -> String {
        let tenths = (min(max(value, 0), 99_999) * 10).rounded() / 10
        return (Int(exactly: tenths).map { String($0) } ?? "\(tenths)") + " %"
    }

    private static func words(for credits: ChappieUsage.Credits) -> String? {
        if credits.isUnlimited { return "without limit" }
        guard credits.isAvailable || credits.balance != nil else { return nil }
        return credits.balance?.onOneLine(limit: 200) ?? "there are some"
    }

    // MARK: JSON

    /// Returns the usage as one object on a line of its own.
    static func line(_ usage: ChappieUsage, account: String) -> String {
        var writer = JSONLineWriter()
        writer.add("type", "usage")
        writer.add("account", account)
        writer.add("planType", usage.planType)
        if let limit = usage.limit { Self.add(limit, to: &writer) }
        if !usage.additionalLimits.isEmpty {
            writer.addObject("additionalLimits") { writer in
                for (name, limit) in usage.additionalLimits.sorted(by: { $0.key < $1.key }) {
                    writer.addObject(name) { Self.add(limit, to: &$0) }
                }
            }
        }
        if let credits = usage.credits {
            writer.addObject("credits") { writer in
                writer.add("available", credits.isAvailable)
                writer.add("unlimited", credits.isUnlimited)
                writer.add("balance", credits.balance)
            }
        }
        return writer.line
    }

    private static func add(_ limit: ChappieUsage.Limit, to writer: inout JSONLineWriter) {
        writer.add("allowed", limit.isAllowed)
        writer.add("limitReached", limit.isReached)
        writer.add("primary", limit.primary)
        writer.add("secondary", limit.secondary)
    }
}
