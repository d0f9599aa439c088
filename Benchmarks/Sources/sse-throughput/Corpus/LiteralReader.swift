// A second reader of event streams, for streams that are complete in memory. It shares no code with the parser or the
// generators, and follows the text of the specification.

/// Reads a stream by WHATWG HTML section 9.2.6, sentence by sentence, without optimizations.
enum LiteralReader {
    /// Returns the facts of a stream.
    static func facts(of bytes: [UInt8]) -> StreamFacts {
        var counter = StreamFactsCounter()
        var data: [UInt8] = []
        var type: [UInt8] = []
        var idBuffer: [UInt8] = []
        for line in self.lines(of: self.withoutByteOrderMark(bytes)) {
            guard !line.isEmpty else {
                if !data.isEmpty {
                    data.removeLast()
                    let name = type.isEmpty ? Array("message".utf8) : type
                    name.withUnsafeBytes { type in
                        data.withUnsafeBytes { data in
                            idBuffer.withUnsafeBytes { counter.add(type: type, data: data, lastEventID: $0) }
                        }
                    }
                }
                data = []
                type = []
                continue
            }
            let (name, value) = self.field(line)
            switch name {
            case "data": data += value + [0x0A]
            case "event": type = value
            case "id" where !value.contains(0): idBuffer = value
            default: break
            }
        }
        return counter.facts
    }

    private static func withoutByteOrderMark(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    }

    /// Returns the terminated lines; bytes after the last line terminator are no line.
    private static func lines(of bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex, index = start
        while index < bytes.endIndex {
            if bytes[index] == 0x0A || bytes[index] == 0x0D {
                lines.append(bytes[start..<index])
                if bytes[index] == 0x0D, index + 1 < bytes.endIndex, bytes[index + 1] == 0x0A { index += 1 }
                start = index + 1
            }
            index += 1
        }
        return lines
    }

    private static func field(_ line: ArraySlice<UInt8>) -> (name: String, value: [UInt8]) {
        guard let colon = line.firstIndex(of: 0x3A) else { return (String(decoding: line, as: UTF8.self), []) }
        var value = line[(colon + 1)...]
        if value.first == 0x20 { value = value.dropFirst() }
        return (String(decoding: line[..<colon], as: UTF8.self), Array(value))
    }
}
