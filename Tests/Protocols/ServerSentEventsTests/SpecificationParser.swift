// WHATWG HTML section 9.2.6, transcribed sentence by sentence: slow, for whole streams only, independent of the parser.

import ServerSentEvents

/// Interprets a whole event stream as the specification's prose does.
struct SpecificationParser {
    private(set) var recording = Recording()
    private var data = "", eventType = "", idBuffer = "", lastEventID = ""
    private var hasFieldOfEvent = false

    /// Decodes the stream, cuts it into lines, and interprets them.
    static func parse(_ bytes: [UInt8]) -> Recording {
        var parser = SpecificationParser()
        // "Streams must be decoded using the UTF-8 decode algorithm", which strips one byte order mark.
        var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
        let rest = parser.interpretLines(of: scalars)
        parser.recording.lastEventID = Array(parser.lastEventID.utf8)
        // "Once the end of the file is reached, any pending data must be discarded."
        if rest > 0 {
            parser.recording.end = .insideLine(pendingByteCount: 0)
        } else if parser.hasFieldOfEvent {
            parser.recording.end = .insideEvent(pendingByteCount: 0)
        }
        return parser.recording
    }

    /// Says how many scalars no line terminator follows.
    private mutating func interpretLines(of scalars: [Unicode.Scalar]) -> Int {
        var line: [Unicode.Scalar] = []
        var index = 0
        while index < scalars.count {
            switch scalars[index] {
            case "\r":
                if index + 1 < scalars.count, scalars[index + 1] == "\n" { index += 1 }
                self.interpret(line)
                line = []
            case "\n":
                self.interpret(line)
                line = []
            default:
                line.append(scalars[index])
            }
            index += 1
        }
        return line.count
    }

    private mutating func interpret(_ line: [Unicode.Scalar]) {
        guard !line.isEmpty else { return self.dispatch() }
        guard let colon = line.firstIndex(of: ":") else { return self.process(line, value: []) }
        if colon == 0 { return self.recording.items.append(.comment) }
        var value = line[(colon + 1)...]
        if value.first == " " { value = value.dropFirst() }
        self.process(Array(line[..<colon]), value: Array(value))
    }

    private mutating func process(_ field: [Unicode.Scalar], value: [Unicode.Scalar]) {
        let text = Self.string(value)
        switch field {
        case Array("event".unicodeScalars):
            self.eventType = text
            self.hasFieldOfEvent = true
        case Array("data".unicodeScalars):
            self.data.unicodeScalars.append(contentsOf: value)
            self.data.unicodeScalars.append("\n")
            self.hasFieldOfEvent = true
        case Array("id".unicodeScalars):
            guard !value.contains("\0") else { return }
            self.idBuffer = text
            self.hasFieldOfEvent = true
        case Array("retry".unicodeScalars):
            guard value.allSatisfy({ ("0"..."9").contains($0) }), let milliseconds = Int(text) else { return }
            self.recording.items.append(.reconnectionTime(milliseconds))
        default:
            return
        }
    }

    private mutating func dispatch() {
        self.lastEventID = self.idBuffer
        defer { (self.data, self.eventType, self.hasFieldOfEvent) = ("", "", false) }
        guard !self.data.isEmpty else { return }
        let data = Self.string(Array(self.data.unicodeScalars.dropLast()))
        let type = self.eventType.unicodeScalars.isEmpty ? "message" : self.eventType
        let event = ServerSentEvent(type: type, data: data, lastEventID: self.lastEventID)
        self.recording.items.append(.event(event.utf8))
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String {
        var text = ""
        text.unicodeScalars.append(contentsOf: scalars)
        return text
    }
}
