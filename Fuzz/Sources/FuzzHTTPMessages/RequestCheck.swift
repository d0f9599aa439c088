// Holds heads of requests against what they were made of.

import HTTPProtocol
import Invariants

/// A request of any texts.
struct RequestCheck {
    private let method: RequestMethod
    private let target: String
    private let host: String
    private let fields: [(name: String, value: String)]

    /// Takes texts from the input, each behind a byte with its length.
    init(method: RequestMethod, _ reader: inout InputReader) {
        func text() -> String { String(decoding: reader.bytes(reader.choice(of: 40)), as: UTF8.self) }
        self.method = method
        self.target = text()
        self.host = text()
        var fields: [(name: String, value: String)] = []
        while reader.remainingByteCount > 0 { fields.append((text(), text())) }
        self.fields = fields
    }

    func run() {
        do throws(RequestHead.Failure) {
            let bytes = try RequestHead.bytes(
                method: self.method, target: self.target, host: self.host, fields: self.fields)
            self.check(bytes)
        } catch {
            require(!self.isPlain, "\(error), although nothing is wrong")
        }
    }

    /// Indicates whether there is no byte in any part that could be wrong.
    private var isPlain: Bool {
        let letters = { (text: String) in !text.isEmpty && text.utf8.allSatisfy { 0x61...0x7A ~= $0 } }
        return self.method != .connect && letters(self.target) && letters(self.host)
            && self.fields.allSatisfy { letters($0.name) && letters($0.value) && $0.name != "host" }
    }

    private func check(_ bytes: [UInt8]) {
        let lines = Self.lines(of: bytes)
        require(lines.count == self.fields.count + 4, "\(lines.count) lines for \(self.fields.count) fields")
        require(lines.suffix(2).allSatisfy(\.isEmpty), "the head does not end with an empty line")
        let words = lines[0].split(separator: 0x20, omittingEmptySubsequences: false)
        let expected = [self.method.rawValue, self.target, "HTTP/1.1"]
        require(words.map { String(decoding: $0, as: UTF8.self) } == expected, "the request line is another one")
        for (line, field) in zip(lines.dropFirst(), [(name: "Host", value: self.host)] + self.fields) {
            let parts = line.split(separator: 0x3A, maxSplits: 1, omittingEmptySubsequences: false)
            require(parts.count == 2 && parts[0].elementsEqual(field.name.utf8), "\(field.name) has another name")
            require(parts[1].elementsEqual((" " + field.value).utf8), "\(field.name) has another value")
            require(!line.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "a control character was written")
        }
    }

    private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        for index in bytes.indices.dropFirst() where bytes[index] == 0x0A && bytes[index - 1] == 0x0D {
            lines.append(bytes[start..<(index - 1)])
            start = index + 1
        }
        return lines + [bytes[start...]]
    }
}
