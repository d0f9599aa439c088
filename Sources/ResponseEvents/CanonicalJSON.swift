// One spelling for each JSON value, so that two spellings of one value are equal byte for byte. Pure.

import CSimdjson

/// Brings JSON text into a canonical form, in which values that are equal have the same bytes.
///
/// It follows RFC 8785: no white space; members in the order of their names' UTF-16 code units, with escapes undone;
/// in strings only the escapes that must be, the short ones where there are any; numbers as ECMAScript writes them.
///
/// It differs where that RFC would refuse a value, or make two values equal that a tool may tell apart:
///
/// - A number keeps all its digits. RFC 8785 rounds to a double, by which 9007199254740993 would become
///   9007199254740992. What a double holds exactly is written as the RFC says: 1.0, 1e0 and 10E-1 are 1, and -0 is 0.
/// - An exponent of more than 18 digits is left as it is written, with its number.
/// - Members with the same name stay, in their order.
/// - Half a surrogate pair stays, as an escape in lower case, and so does a text that holds one.
///
/// What is no JSON text, or is nested deeper than 511 levels, is returned as it is: a model may write anything. The time
/// is linear in the size of the text, the sorting of members aside.
package enum CanonicalJSON {
    /// How deep values may be nested; the scanner's own limit, less the object that a text is put into.
    package static let maximumDepth = Int(CSJ_MAXIMUM_DEPTH) - 1

    /// The canonical form of a JSON text, or the text itself when it is not JSON.
    package static func bytes(of text: some Collection<UInt8>) -> [UInt8] {
        // The scanner reads objects.
        var object = Array("{\"a\":".utf8)
        object.reserveCapacity(text.count + 6)
        object += text
        object.append(UInt8(ascii: "}"))
        let scanner = JSONScanner()
        let canonical = PaddedBytes(object).withBytes { bytes -> [UInt8]? in
            guard let nodes = try? scanner.nodes(of: bytes, depth: Int(CSJ_MAXIMUM_DEPTH)) else { return nil }
            // A text like `1,"b":2` would be an object's inside without being a value.
            guard nodes.count > 1, nodes[1].next == nodes.count else { return nil }
            var writer = Writer(nodes: nodes, byteCount: bytes.count)
            writer.append(1)
            return writer.output
        }
        return canonical ?? Array(text)
    }

    /// The canonical form of a JSON text, or the text itself when it is not JSON.
    package static func text(of text: String) -> String {
        String(decoding: self.bytes(of: text.utf8), as: UTF8.self)
    }

    /// The canonical form of a function's arguments.
    ///
    /// Text of white space alone is `{}`: many models call a function without parameters so.
    package static func arguments(_ text: String) -> String {
        let isBlank = text.utf8.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        return isBlank ? "{}" : self.text(of: text)
    }
}

extension CanonicalJSON {
    /// Writes values that the scanner has found.
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

        /// Of members with the same name the one that stands first in the text comes first.
        private static func precedes(_ left: Member, _ right: Member) -> Bool {
            CanonicalJSON.order(left.name, right.name) ?? (left.node < right.node)
        }
    }
}

extension csj_text {
    /// The bytes as a collection.
    fileprivate var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.bytes, count: self.count) }
}
