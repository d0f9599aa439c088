// The inputs. Each knows what is in it, so that the measurement can be checked.

/// An event stream with a name, built once before anything is measured.
enum Workload: String, CaseIterable {
    case responses
    case tiny
    case longLines = "long-lines"
    case multiLine = "multi-line"
    case crlf
    case drip = "drip-37-bytes"

    /// How many bytes the parser is given at once.
    var chunkByteCount: Int { self == .drip ? 37 : 16 << 10 }

    /// Builds the stream.
    func makeInput() -> Input {
        switch self {
        case .responses: Self.responses(lineTerminator: "\n", byteCount: 64 << 20)
        case .crlf: Self.responses(lineTerminator: "\r\n", byteCount: 64 << 20)
        case .drip: Self.responses(lineTerminator: "\n", byteCount: 8 << 20)
        case .tiny: Self.repeated(byteCount: 64 << 20) { _ in (["data: x"], 1) }
        case .longLines:
            Self.repeated(byteCount: 16 << 20) { _ in
                (["data: " + String(repeating: "0123456789abcdef", count: 1 << 16)], 1 << 20)
            }
        case .multiLine:
            Self.repeated(byteCount: 32 << 20) { index in
                let lines = (0..<40).map { "data: line \($0) of an event that has forty of them" }
                let values = lines.reduce(0) { $0 + $1.utf8.count - 6 }
                return (["event: update", "id: \(index)"] + lines, values + 39)
            }
        }
    }

    private static func responses(lineTerminator: String, byteCount: Int) -> Input {
        let padding = String(repeating: "x", count: 24)
        return self.repeated(byteCount: byteCount, lineTerminator: lineTerminator) { index in
            let json = """
                {"type":"response.output_text.delta","sequence_number":\(index),"item_id":"msg_\(padding)",\
                "output_index":0,"content_index":0,"delta":" word","obfuscation":"\(padding)"}
                """
            return (["event: response.output_text.delta", "data: " + json], json.utf8.count)
        }
    }

    /// Repeats an event, given as its lines and the byte count of its data, until the input is large enough.
    private static func repeated(
        byteCount: Int, lineTerminator: String = "\n", _ event: (Int) -> (lines: [String], dataByteCount: Int)
    ) -> Input {
        var input = Input()
        input.bytes.reserveCapacity(byteCount + (2 << 20))
        while input.bytes.count < byteCount {
            let next = event(input.eventCount)
            for line in next.lines + [""] {
                input.bytes.append(contentsOf: line.utf8)
                input.bytes.append(contentsOf: lineTerminator.utf8)
            }
            input.eventCount += 1
            input.dataByteCount += next.dataByteCount
        }
        return input
    }
}

/// A stream, and what a correct parser finds in it.
struct Input {
    /// The stream.
    var bytes: [UInt8] = []
    /// How many events it has.
    var eventCount = 0
    /// How many bytes of data these have, the LFs between lines included.
    var dataByteCount = 0
}
