// Streams as bytes, with their counts and checksums. They are built before the measurement.

/// An event stream, and the facts that a correct parser finds in it.
struct EventStreamInput {
    /// A prefix of the stream that ends with an event.
    struct Prefix: Encodable {
        /// The size of the prefix in bytes.
        var byteCount: Int
        /// The facts of the prefix.
        var facts: StreamFacts
    }

    /// The stream.
    var bytes: [UInt8]
    /// The facts of the whole stream.
    var facts: StreamFacts
    /// Prefixes of the stream, the shortest first.
    var prefixes: [Prefix]
}

/// Writes events as lines, and counts their content.
///
/// The facts come from the values, never from the bytes, so they do not depend on how the stream is written.
struct EventStreamBuilder {
    private let lineTerminator: [UInt8]
    private var bytes: [UInt8] = []
    private var counter = StreamFactsCounter()
    private var joined: [UInt8] = []
    private var lastEventID: [UInt8] = []
    private var marks: ArraySlice<Int>
    private var prefixes: [EventStreamInput.Prefix] = []

    /// A builder of a stream with this line terminator, which keeps the facts of prefixes of at least `marks` bytes.
    init(lineTerminator: String, capacity: Int, marks: [Int] = []) {
        self.lineTerminator = Array(lineTerminator.utf8)
        self.marks = marks[...]
        self.bytes.reserveCapacity(capacity)
    }

    /// The size of the stream so far, in bytes.
    var byteCount: Int { self.bytes.count }

    /// Adds an event; without a type it is a `message`, without an ID the last one stays.
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
