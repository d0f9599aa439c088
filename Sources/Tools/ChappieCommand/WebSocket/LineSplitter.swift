// Bytes to lines. Pure.

/// Splits bytes at line feeds; the last line needs none.
struct LineSplitter {
    private let limit: Int
    private var bytes: [UInt8] = []
    /// The place behind the last line that was returned.
    private var start = 0
    /// The place up to which there is no line feed.
    private var searched = 0
    private var hasEnded = false

    /// Creates a splitter of lines of at most `limit` bytes.
    init(limit: Int) { self.limit = limit }

    /// Adds bytes; throws when a line is longer than the limit.
    mutating func append(_ more: [UInt8]) throws(UsageError) {
        self.bytes.removeFirst(self.start)
        self.searched -= self.start
        self.start = 0
        self.bytes += more
        let newline = self.bytes[self.searched...].firstIndex(of: UInt8(ascii: "\n")) ?? self.bytes.count
        guard newline <= self.limit else { throw UsageError("a line of the input is longer than \(self.limit) bytes") }
    }

    /// Marks the end of the input.
    mutating func finish() { self.hasEnded = true }

    /// Returns the next line without its line feed; nil when it is incomplete, or there is none.
    mutating func next() -> [UInt8]? {
        if let end = self.bytes[self.searched...].firstIndex(of: UInt8(ascii: "\n")) {
            defer {
                self.start = end + 1
                self.searched = end + 1
            }
            return Array(self.bytes[self.start..<end])
        }
        self.searched = self.bytes.count
        guard self.hasEnded, self.start < self.bytes.count else { return nil }
        defer { self.start = self.bytes.count }
        return Array(self.bytes[self.start...])
    }
}
