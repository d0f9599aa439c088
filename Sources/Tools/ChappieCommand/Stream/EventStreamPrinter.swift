// Event-stream bytes to JSON lines. Pure: a parser and its output.
import ServerSentEvents

/// Turns an event stream into JSON lines as it arrives.
struct EventStreamPrinter {
    /// The output for some bytes of the stream.
    struct Printed: Equatable {
        /// The complete lines.
        var text = ""
        /// The error that ended the parsing, after those lines.
        var failure: EventStreamError?
    }

    private var parser: EventStreamParser
    private let chunkByteCount: Int?

    /// Creates a printer at the beginning of a stream; `chunkByteCount` cuts the input into smaller pieces.
    init(maximumEventByteCount: Int = 64 << 20, chunkByteCount: Int? = nil) {
        self.parser = EventStreamParser(maximumEventByteCount: maximumEventByteCount)
        self.chunkByteCount = chunkByteCount
    }

    /// Returns the lines that the next bytes of the stream complete.
    mutating func lines(for bytes: [UInt8]) -> Printed {
        var printed = Printed()
        var rest = bytes[...]
        while !rest.isEmpty, printed.failure == nil {
            let piece = rest.prefix(self.chunkByteCount ?? rest.count)
            rest = rest.dropFirst(piece.count)
            self.parse(piece, into: &printed)
        }
        return printed
    }

    /// Returns whether the stream ends inside an event, which is then not one (WHATWG HTML section 9.2.6).
    mutating func endsInsideEvent() -> Bool { self.parser.finish() != .clean }

    private mutating func parse(_ piece: ArraySlice<UInt8>, into printed: inout Printed) {
        unsafe piece.withUnsafeBytes { buffer in
            do throws(EventStreamError) {
                unsafe try self.parser.parse(buffer) { item in
                    switch unsafe item {
                    case .event(let bytes): unsafe printed.text += Self.line(ServerSentEvent(bytes))
                    case .reconnectionTime(let milliseconds): printed.text += Self.line(retry: milliseconds)
                    case .comment: break
                    }
                }
            } catch {
                printed.failure = error
            }
        }
    }

    /// Returns the line of an event.
    static func line(_ event: ServerSentEvent) -> String {
        var writer = JSONLineWriter()
        writer.add("event", event.type)
        writer.add("data", event.data)
        if !event.lastEventID.isEmpty { writer.add("id", event.lastEventID) }
        return writer.line
    }

    private static func line(retry milliseconds: Int) -> String {
        var writer = JSONLineWriter()
        writer.add("retry", milliseconds)
        return writer.line
    }
}
