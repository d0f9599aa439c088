// Foundation's JSON beside the plain reader: the same bytes accepted, the same values, up to the differences below.

import Foundation
import Invariants

/// Compares what Foundation makes of a text with what the plain reader made of it.
///
/// Foundation differs from RFC 8259 in these respects, and in no other:
///
/// - It reads UTF-16 and UTF-32, and passes over a byte order mark.
/// - It lets a comma stand before a closing bracket.
/// - It refuses half a surrogate pair in an escape, and numbers past a double.
/// - Of members with the same name the last one counts, as here; but names that are canonically equivalent are the same.
/// - Numbers of more digits than a double has are decimal numbers, whose doubles are off in the last place.
/// - In a string, a byte order mark is dropped at the beginning and directly behind an escape.
/// - Nesting of more than 512 levels is refused, as by the decoder.
struct FoundationCheck {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Compares; `node` is nil when the plain reader refused the bytes.
    func compare(with node: JSONNode?, depth: Int) {
        let value = Self.parse(self.bytes)
        guard let node else {
            return require(value == nil || self.hasOtherEncoding || self.hasTrailingComma, "Foundation reads it")
        }
        if let value { return Self.compare(node, of: self.bytes, with: value) }
        guard depth <= ResponseEventOracle.maximumDepth else { return }
        require(self.isBeyondFoundation(node), "Foundation refuses it")
    }

    private static func parse(_ bytes: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    }

    private static func compare(_ node: JSONNode, of bytes: [UInt8], with value: Any) {
        let read = self.withoutDroppedMarks(bytes)
        guard read.count < bytes.count else {
            return require(FoundationCheck(bytes).isEqual(node, value), "Foundation reads other values")
        }
        var reader = StrictJSON(read)
        let node = try? reader.read()
        require(node.map { FoundationCheck(read).isEqual($0, value) } ?? false, "Foundation reads other values")
    }

    /// A JSON text without the byte order marks that Foundation drops in its strings.
    private static func withoutDroppedMarks(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        var isString = false
        while let byte = rest.popFirst() {
            output.append(byte)
            if isString, byte == UInt8(ascii: "\\") {
                let count = rest.first == UInt8(ascii: "u") ? 5 : 1
                output += rest.prefix(count)
                rest = rest.dropFirst(count)
            } else if byte == UInt8(ascii: "\"") {
                isString.toggle()
            } else {
                continue
            }
            if isString, rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        }
        return output
    }

    // MARK: What only Foundation reads

    /// Foundation guesses the encoding from a byte order mark, or from where zeroes stand in the first four bytes.
    private var hasOtherEncoding: Bool {
        let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]]
        return self.bytes.prefix(4).contains(0) || marks.contains { self.bytes.starts(with: $0) }
    }

    private var hasTrailingComma: Bool {
        var reader = StrictJSON(self.bytes, dialect: .trailingCommas)
        return (try? reader.read()) != nil
    }

    // MARK: What Foundation does not read

    private func isBeyondFoundation(_ node: JSONNode) -> Bool {
        switch node.kind {
        case .object(let members):
            members.contains { Self.hasHalfAPair($0.name) || self.isBeyondFoundation($0.value) }
        case .array(let elements): elements.contains { self.isBeyondFoundation($0) }
        case .string(let units): Self.hasHalfAPair(units)
        case .number: Double(self.written(node))?.isFinite != true
        case .bool, .null: false
        }
    }

    private static func hasHalfAPair(_ units: [UInt16]) -> Bool {
        Array(String(decoding: units, as: UTF16.self).utf16) != units
    }

    // MARK: Values

    private func written(_ node: JSONNode) -> String { String(decoding: self.bytes[node.range], as: UTF8.self) }

    private func isEqual(_ node: JSONNode, _ value: Any) -> Bool {
        switch node.kind {
        case .object(let members): self.isEqual(members, value)
        case .array(let elements):
            (value as? [Any]).map { values in
                values.count == elements.count && zip(elements, values).allSatisfy { self.isEqual($0, $1) }
            } ?? false
        case .string: (value as? String).map { $0.utf8.elementsEqual(node.text?.utf8 ?? "".utf8) } ?? false
        case .number: (value as? NSNumber).map { !Self.isBool($0) && self.isEqual(self.written(node), $0) } ?? false
        case .bool(let isTrue): (value as? NSNumber).map { Self.isBool($0) && $0.boolValue == isTrue } ?? false
        case .null: value is NSNull
        }
    }

    private func isEqual(_ members: [JSONNode.Member], _ value: Any) -> Bool {
        guard let values = value as? [String: Any] else { return false }
        // A dictionary of strings takes canonically equivalent names for the same, as Foundation's does.
        var expected: [String: JSONNode] = [:]
        for member in members { expected[String(decoding: member.name, as: UTF16.self)] = member.value }
        return expected.count == values.count
            && expected.allSatisfy { name, node in values[name].map { self.isEqual(node, $0) } ?? false }
    }

    private static func isBool(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }

    private func isEqual(_ written: String, _ number: NSNumber) -> Bool {
        if let integer = Int64(written) { return number.int64Value == integer && number.stringValue == "\(integer)" }
        if let integer = UInt64(written) { return number.uint64Value == integer }
        guard let expected = Double(written) else { return false }
        let found = number.doubleValue
        return found == expected || (found - expected).magnitude <= expected.magnitude * 1e-12
    }
}
