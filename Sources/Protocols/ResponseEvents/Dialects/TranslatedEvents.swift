// Events of the Responses API that were made of another API's. A value.

/// The events that one event of another API stands for, one behind the other in one piece of memory.
package struct TranslatedEvents {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    /// The number of deltas of text, reasoning and refusals.
    private(set) var outputCount = 0

    /// Indicates whether there is no event.
    package var isEmpty: Bool { self.ends.isEmpty }

    /// Calls a closure with each event, behind which as many bytes are readable as a decoder needs.
    package func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
        var padded = self.bytes
        padded.append(contentsOf: repeatElement(0, count: ResponseEventDecoder.paddingByteCount))
        padded.withUnsafeBytes { bytes in
            var start = 0
            for end in self.ends {
                body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
        }
    }

    /// Appends an event of a type with further members, each as JSON text.
    mutating func append(_ type: String, members: [UInt8]) {
        self.begin(type)
        self.bytes += members
        self.end()
    }

    /// Appends an event about an item.
    mutating func append(_ type: String, outputIndex: Int, item: [UInt8]) {
        self.begin(type)
        self.bytes += "\"output_index\":\(outputIndex),\"item\":".utf8
        self.bytes += item
        self.end()
    }

    /// Appends a delta, whose text is the content of a JSON string.
    mutating func append(delta: UnsafeBufferPointer<UInt8>, _ type: StaticString, outputIndex: Int) {
        self.bytes.reserveCapacity(self.bytes.count + delta.count + 128)
        self.bytes += #"{"type":""#.utf8
        type.withUTF8Buffer { self.bytes += $0 }
        self.bytes += #"","output_index":"#.utf8
        self.bytes += String(outputIndex).utf8
        self.bytes += #","content_index":0,"delta":""#.utf8
        self.bytes += delta
        self.bytes.append(UInt8(ascii: "\""))
        self.end()
        if !type.description.hasPrefix("response.function_call") { self.outputCount += 1 }
    }

    private mutating func begin(_ type: String) {
        self.bytes += #"{"type":""#.utf8
        self.bytes += type.utf8
        self.bytes += "\",".utf8
    }

    private mutating func end() {
        self.bytes.append(UInt8(ascii: "}"))
        self.ends.append(self.bytes.count)
    }
}
