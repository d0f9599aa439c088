// The position of a parser's call in its chunk: the current line, and the search for the next. Owned by that call.

/// Steps through the lines of a chunk.
struct LineCursor {
    private let chunk: Chunk
    private var terminators: LineTerminatorScanner
    /// The beginning of the current line.
    private(set) var start: Int
    /// Its end: its terminator, or the end of the chunk when that comes first.
    private var end: Int

    /// Begins with the line that begins at `start`.
    @inline(__always)
    init(chunk: Chunk, start: Int) {
        self.chunk = chunk
        self.start = start
        self.terminators = unsafe LineTerminatorScanner(bytes: chunk.base, count: chunk.count)
        self.end = self.terminators.next()
        // A LF that belongs to the previous chunk does not end a line of this one.
        if self.end < start { self.end = self.terminators.next() }
    }

    /// Indicates whether the current line ends in the chunk.
    @inline(__always)
    var isAtLine: Bool { self.end < self.chunk.count }

    /// Indicates whether the current line is empty.
    @inline(__always)
    var isAtBlankLine: Bool { self.end == self.start && self.isAtLine }

    /// Indicates whether the current line is a comment.
    @inline(__always)
    var isAtComment: Bool { self.isAtLine && self.chunk[self.start] == .colon }

    /// The current line, without its terminator.
    @inline(__always)
    var line: ChunkRange { ChunkRange(start: self.start, count: self.end &- self.start) }

    /// The value of the current line as a `data` field; nil when it is not one with a colon.
    @inline(__always)
    var dataValue: ChunkRange? {
        guard self.end &- self.start >= 5, self.isAtLine, self.chunk.hasDataField(at: self.start) else { return nil }
        return self.chunk.value(from: self.start &+ 5, to: self.end)
    }

    /// The value of the current line as an `event` field; nil when it is not one with a colon.
    @inline(__always)
    var eventValue: ChunkRange? {
        guard self.end &- self.start >= 6, self.isAtLine, self.chunk.hasEventField(at: self.start) else { return nil }
        return self.chunk.value(from: self.start &+ 6, to: self.end)
    }

    /// Indicates whether the chunk ended with a CR, so that a LF at the beginning of the next one belongs to it.
    private(set) var endsBeforeLineFeed = false

    /// Goes to the next line.
    ///
    /// A CR has ended its line already: waiting for the byte after it would delay an event.
    @inline(__always)
    mutating func advance() {
        self.start = self.end &+ 1
        if self.start == self.chunk.count {
            self.endsBeforeLineFeed = self.chunk[self.end] == .carriageReturn
        } else if self.chunk.hasCarriageReturnLineFeed(at: self.end) {
            self.start &+= 1
            _ = self.terminators.next()
        }
        self.end = self.terminators.next()
    }
}
