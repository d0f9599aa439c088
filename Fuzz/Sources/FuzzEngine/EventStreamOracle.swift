// The data of an event stream, read from the whole bytes by the WHATWG's algorithm. It shares no code with the product.

/// The data of the events in a stream that are dispatched, in order.
enum EventStreamOracle {
    static func data(of stream: [UInt8]) -> [[UInt8]] {
        var stream = stream[...]
        if stream.starts(with: [0xEF, 0xBB, 0xBF]) { stream = stream.dropFirst(3) }
        var events: [[UInt8]] = []
        var lines: [ArraySlice<UInt8>] = []
        for line in self.lines(of: stream) {
            if line.isEmpty {
                if !lines.isEmpty { events.append(Array(lines.joined(separator: [0x0A]))) }
                lines = []
            } else if let value = self.value(of: line) {
                lines.append(value)
            }
        }
        return events
    }

    /// The lines that end.
    private static func lines(of stream: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = stream.startIndex
        var index = start
        while index < stream.endIndex {
            defer { index += 1 }
            let byte = stream[index]
            guard byte == 0x0A || byte == 0x0D else { continue }
            lines.append(stream[start..<index])
            if byte == 0x0D, stream[index...].dropFirst().first == 0x0A { index += 1 }
            start = index + 1
        }
        return lines
    }

    /// The value of a `data` field; nil for any other line.
    private static func value(of line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        guard name.elementsEqual("data".utf8) else { return nil }
        let value = line.dropFirst(name.count + 1)
        return value.first == 0x20 ? value.dropFirst() : value
    }
}
