// Streams as bytes, with what is in them. They are built before anything is measured.

/// An event stream, and what a correct parser finds in it.
struct EventStreamInput {
    /// Where an event ends, and what is in the stream up to there.
    struct Prefix: Encodable {
        /// How many bytes lie before the end of that event.
        var byteCount: Int
        /// What is in them.
        var facts: StreamFacts
    }

    /// The stream.
    var bytes: [UInt8]
    /// What is in it.
    var facts: StreamFacts
    /// The same for beginnings of the stream, the shortest first.
    var prefixes: [Prefix]
}

/// Writes events as lines, and notes what they carry.
///
/// The facts come from the values, never from the bytes: they are a second account of the same stream.
struct EventStreamBuilder {
    private let lineTerminator: [UInt8]
    private var bytes: [UInt8] = []
    private var counter = StreamFactsCounter()
    private var joined: [UInt8] = []
    private var lastEventID: [UInt8] = []
    private var marks: ArraySlice<Int>
    private var prefixes: [EventStreamInput.Prefix] = []

    /// A builder of a stream with this line terminator, which notes the facts of prefixes that have at least `marks` bytes.
    init(lineTerminator: String, capacity: Int, marks: [Int] = []) {
        self.lineTerminator = Array(lineTerminator.utf8)
        self.marks = marks[...]
        self.bytes.reserveCapacity(capacity)
    }

    /// How many bytes the stream has so far.
    var byteCount: Int { self.bytes.count }

    /// Adds an event; no type is the type `message`, no ID leaves the last one.
    mutating func append(type: [UInt8]? = nil, id: [UInt8]? = nil, dataLines: [[UInt8]]) {
        if let type { self.appendLine("event: ", type) }
        if let id {
            self.appendLine("id: ", id)
            self.lastEventID = id
        }
        self.joined.removeAll(keepingCapacity: true)
        for (index, line) in dataLines.enumerated() {
            self.appendLine("data: ", line)
            if index > 0 { self.joined.append(0x0A) }
            self.joined.append(contentsOf: line)
        }
        self.bytes.append(contentsOf: self.lineTerminator)
        self.count(type: type ?? Array("message".utf8))
    }

    /// The stream.
    func finish() -> EventStreamInput {
        EventStreamInput(bytes: self.bytes, facts: self.counter.facts, prefixes: self.prefixes)
    }

    private mutating func appendLine(_ name: StaticString, _ value: [UInt8]) {
        name.withUTF8Buffer { self.bytes.append(contentsOf: $0) }
        self.bytes.append(contentsOf: value)
        self.bytes.append(contentsOf: self.lineTerminator)
    }

    private mutating func count(type: [UInt8]) {
        type.withUnsafeBytes { type in
            self.joined.withUnsafeBytes { data in
                self.lastEventID.withUnsafeBytes { self.counter.add(type: type, data: data, lastEventID: $0) }
            }
        }
        while let mark = self.marks.first, self.bytes.count >= mark {
            self.marks.removeFirst()
            self.prefixes.append(.init(byteCount: self.bytes.count, facts: self.counter.facts))
        }
    }
}
