// The canonical form of JSON values: equal values are equal byte for byte. Pure.

import CSimdjson

/// Converts JSON text to a canonical form, in which values that are equal have the same bytes.
///
/// It follows RFC 8785: no white space; members in the order of their names' UTF-16 code units, with escapes undone; in
/// strings only the required escapes, in their short form where there is one; numbers as ECMAScript writes them.
///
/// It differs where that RFC would refuse a value, or make two values equal that a tool may distinguish:
///
/// - A number keeps all its digits. RFC 8785 rounds to a double, so that 9007199254740993 would become
///   9007199254740992. A number that a double represents exactly is written as in the RFC: 1.0, 1e0 and 10E-1 are 1,
///   and -0 is 0.
/// - An exponent of more than 18 digits is left as written, with its number.
/// - Members with the same name are kept, in their order.
/// - Half of a surrogate pair is kept, as an escape in lower case.
///
/// Text that is not JSON, or is nested deeper than 511 levels, is returned unchanged, because a model may write any
/// text. The time is linear in the size of the text, except for the sorting of members.
package enum CanonicalJSON {
    /// The deepest nesting of values: the scanner's own limit, less the object that encloses a text.
    package static let maximumDepth = Int(CSJ_MAXIMUM_DEPTH) - 1

    /// Returns the canonical form of a JSON text, or the text itself when it is not JSON.
    package static func bytes(of text: some Collection<UInt8>) -> [UInt8] {
        // The scanner reads only objects.
        var object = Array("{\"a\":".utf8)
        object.reserveCapacity(text.count + 6)
        object += text
        object.append(UInt8(ascii: "}"))
        let scanner = JSONScanner()
        let canonical = PaddedBytes(object).withBytes { bytes -> [UInt8]? in
            guard let nodes = try? scanner.nodes(of: bytes, depth: Int(CSJ_MAXIMUM_DEPTH)) else { return nil }
            // A text like `1,"b":2` would be valid inside an object without being one value.
            guard nodes.count > 1, nodes[1].next == nodes.count else { return nil }
            var writer = Writer(nodes: nodes, byteCount: bytes.count)
            writer.append(1)
            return writer.output
        }
        return canonical ?? Array(text)
    }

    /// Returns the canonical form of a JSON text, or the text itself when it is not JSON.
    package static func text(of text: String) -> String {
        String(decoding: self.bytes(of: text.utf8), as: UTF8.self)
    }

    /// Returns the canonical form of a function's arguments.
    ///
    /// Text of white space alone becomes `{}`: many models write it for functions without parameters.
    package static func arguments(_ text: String) -> String {
        let isBlank = text.utf8.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        return isBlank ? "{}" : self.text(of: text)
    }
}

extension CanonicalJSON {
    /// Writes the values that the scanner has found.
    private struct Writer {
        /// A member of an object, ready to be sorted.
        struct Member {
            let name: [UInt8]
            let node: Int
        }

        let nodes: UnsafeBufferPointer<csj_node>
        private(set) var output: [UInt8] = []

        init(nodes: UnsafeBufferPointer<csj_node>, byteCount: Int) {
            self.nodes = nodes
            self.output.reserveCapacity(byteCount)
        }

        mutating func append(_ index: Int) {
            let node = self.nodes[index]
            switch node.kind {
            case csj_kind_object: self.appendObject(index)
            case csj_kind_array: self.appendArray(index)
            case csj_kind_string: CanonicalJSON.appendString(escaped: node.json.buffer, to: &self.output)
            case csj_kind_number: CanonicalJSON.appendNumber(node.json.buffer, to: &self.output)
            default: self.output += node.json.buffer
            }
        }

        private mutating func appendObject(_ index: Int) {
            let members = self.nodes.children(of: index).map {
                Member(name: CanonicalJSON.unescaped(self.nodes[$0].key.buffer), node: $0)
            }
            self.output.append(UInt8(ascii: "{"))
            for (place, member) in members.sorted(by: Self.precedes).enumerated() {
                if place > 0 { self.output.append(UInt8(ascii: ",")) }
                CanonicalJSON.appendString(member.name[...], to: &self.output)
                self.output.append(UInt8(ascii: ":"))
                self.append(member.node)
            }
            self.output.append(UInt8(ascii: "}"))
        }

        private mutating func appendArray(_ index: Int) {
            self.output.append(UInt8(ascii: "["))
            for (place, element) in self.nodes.children(of: index).enumerated() {
                if place > 0 { self.output.append(UInt8(ascii: ",")) }
                self.append(element)
            }
            self.output.append(UInt8(ascii: "]"))
        }

        /// Returns whether a member precedes another; of members with the same name the first in the text is first.
        private static func precedes(_ left: Member, _ right: Member) -> Bool {
            CanonicalJSON.order(left.name, right.name) ?? (left.node < right.node)
        }
    }
}

extension csj_text {
    /// The bytes as a collection.
    fileprivate var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.bytes, count: self.count) }
}
