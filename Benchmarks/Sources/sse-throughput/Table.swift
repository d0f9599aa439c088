// Columns of text for a terminal, and numbers with a fixed count of decimals.

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Formats a number with `decimals` digits after the point.
func fixed(_ value: Double, _ decimals: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    let scale = (0..<decimals).reduce(1) { product, _ in product * 10 }
    let scaled = Int((abs(value) * Double(scale)).rounded())
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard decimals > 0 else { return sign + String(scaled) }
    let digits = String(scaled % scale)
    return sign + String(scaled / scale) + "." + String(repeating: "0", count: decimals - digits.count) + digits
}

/// Rows of cells: the first column to the left, the others to the right, the last as it is.
struct Table {
    private let widths: [Int]

    /// A table with these widths of columns; the last has none.
    init(widths: [Int]) {
        self.widths = widths
    }

    /// Prints a row.
    func print(_ cells: [String]) {
        var line = ""
        for (index, cell) in cells.enumerated() {
            guard index < self.widths.count else {
                line += "  " + cell
                continue
            }
            let padding = String(repeating: " ", count: max(0, self.widths[index] - cell.count))
            line += index == 0 ? cell + padding : " " + padding + cell
        }
        while line.last == " " { line.removeLast() }
        Swift.print(line)
        // A reader of a pipe gets each row at once.
        fflush(nil)
    }
}
