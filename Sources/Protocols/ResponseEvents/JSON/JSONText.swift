// Writing of JSON: strings with their escapes, and objects whose members keep their original text. Pure.

import CSimdjson

/// Writes JSON text.
package enum JSONText {
    /// Appends a string with its quotes.
    ///
    /// Only the characters that RFC 8259 section 7 requires are escaped.
    package static func append(_ string: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0x20...: output.append(byte)
            case 0x08: output += "\\b".utf8
            case 0x09: output += "\\t".utf8
            case 0x0A: output += "\\n".utf8
            case 0x0C: output += "\\f".utf8
            case 0x0D: output += "\\r".utf8
            default:
                output += "\\u00".utf8
                output += [self.hexadecimal[Int(byte >> 4)], self.hexadecimal[Int(byte & 15)]]
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Returns a string as JSON text, with its quotes.
    package static func string(_ string: String) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(string.utf8.count + 2)
        self.append(string, to: &output)
        return output
    }

    /// Returns a string as it stands between the quotes of JSON text.
    static func content(of string: String) -> [UInt8] { Array(self.string(string).dropFirst().dropLast()) }

    private static let hexadecimal = Array("0123456789abcdef".utf8)
}

/// An object whose members' values keep the text they were written in.
package struct JSONObjectText: Equatable, Sendable {
    /// A member: a name and its value.
    package struct Member: Equatable, Sendable {
        /// The name, unescaped.
        package let name: String
        /// The value as it was written.
        package var json: ArraySlice<UInt8>
    }

    /// The members, one for each name, in the order in which the names appeared.
    package private(set) var members: [Member] = []

    /// Creates an object without members.
    package init() {}

    /// Reads an object.
    ///
    /// Of members with the same name the last value is used, at the place of the first.
    package init(_ json: [UInt8]) throws(ResponseEventError) {
        let padded = PaddedBytes(json)
        let scanner = JSONScanner()
        self.members = try padded.withBytes { (bytes) throws(ResponseEventError) -> [Member] in
            let nodes = try scanner.nodes(of: bytes, depth: 1)
            var members: [Member] = []
            var places: [ExactText: Int] = [:]
            for child in nodes.children(of: 0) {
                let member = Member(
                    name: String(unescaping: nodes[child].key), json: json[nodes[child].range(in: bytes)])
                if let place = places.updateValue(members.count, forKey: ExactText(member.name)) {
                    places[ExactText(member.name)] = place
                    members[place] = member
                } else {
                    members.append(member)
                }
            }
            return members
        }
    }

    /// A member's value as it is written; setting nil removes the member, and a new name goes to the end.
    package subscript(name: String) -> ArraySlice<UInt8>? {
        get { self.members.first { $0.name.isExactly(name) }?.json }
        set {
            guard let newValue else {
                self.members.removeAll { $0.name.isExactly(name) }
                return
            }
            if let index = self.members.firstIndex(where: { $0.name.isExactly(name) }) {
                self.members[index].json = newValue
            } else {
                self.members.append(Member(name: name, json: newValue))
            }
        }
    }

    /// Removes members in one pass.
    mutating func removeMembers(where isUnwanted: (Member) -> Bool) { self.members.removeAll(where: isUnwanted) }

    /// Appends members whose names are not there yet, in one pass.
    mutating func append(contentsOf newMembers: some Sequence<Member>) { self.members += newMembers }

    /// Sets a member of a member; the outer member is made an object if it is not one.
    package mutating func set(_ name: String, in outer: String, to json: [UInt8]) {
        var inner = self[outer].flatMap { try? JSONObjectText(Array($0)) } ?? JSONObjectText()
        inner[name] = json[...]
        self[outer] = inner.json[...]
    }

    /// The object as JSON text.
    package var json: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(self.members.reduce(2) { $0 + $1.name.utf8.count + $1.json.count + 4 })
        output.append(UInt8(ascii: "{"))
        for (index, member) in self.members.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            JSONText.append(member.name, to: &output)
            output.append(UInt8(ascii: ":"))
            output += member.json
        }
        output.append(UInt8(ascii: "}"))
        return output
    }
}

/// The elements of an array, each as the text it was written in.
package struct JSONArrayText {
    /// One element of the array.
    package struct Element {
        /// The value as it was written.
        package let json: ArraySlice<UInt8>
        /// The `type` of an element that is an object.
        package let type: String?
    }

    /// The values in order.
    package let elements: [Element]

    /// Reads an array; nil for any other text.
    package init?(_ json: some Collection<UInt8>) {
        // The scanner reads only objects.
        let object = Array("{\"a\":".utf8) + Array(json) + Array("}".utf8)
        let padded = PaddedBytes(object)
        let scanner = JSONScanner()
        let elements = padded.withBytes { bytes -> [Element]? in
            guard let nodes = try? scanner.nodes(of: bytes, depth: 3) else { return nil }
            let members = Array(nodes.children(of: 0))
            guard members.count == 1, nodes[1].kind == csj_kind_array else { return nil }
            return nodes.children(of: 1).map { element in
                let type = Array(nodes.children(of: element)).last {
                    String(unescaping: nodes[$0].key).isExactly("type")
                }
                return Element(
                    json: object[nodes[element].range(in: bytes)],
                    type: type.flatMap {
                        nodes[$0].kind == csj_kind_string ? String(unescaping: nodes[$0].json).word : nil
                    }
                )
            }
        }
        guard let elements else { return nil }
        self.elements = elements
    }

    /// Returns an array of values that are JSON text already.
    package static func json(_ elements: some Sequence<ArraySlice<UInt8>>) -> [UInt8] {
        var output = [UInt8(ascii: "[")]
        for element in elements {
            if output.count > 1 { output.append(UInt8(ascii: ",")) }
            output += element
        }
        output.append(UInt8(ascii: "]"))
        return output
    }
}

extension csj_node {
    /// Returns the place of the value, including the quotes of a string.
    fileprivate func range(in bytes: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        guard let start = bytes.baseAddress, let value = self.json.bytes else { return 0..<0 }
        let offset = value - start
        let end = offset + self.json.count
        return self.kind == csj_kind_string ? (offset - 1)..<(end + 1) : offset..<end
    }
}
