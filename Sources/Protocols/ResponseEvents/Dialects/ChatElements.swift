// Elements of an array that a server sends in pieces. A value that its holder owns.

import CSimdjson

/// The elements of an array, each put together from its pieces.
///
/// Pieces of one element have its type and its index, or follow one another. Sent back in pieces, a signed text is refused
/// (reported: agno-agi/agno issue 8794). A signature ends its element: other text behind it begins another one.
struct ChatElements {
    private struct Member {
        /// The name, as it was written between its quotes.
        let name: [UInt8]
        /// The value; of a text that grows what is between its quotes.
        var json: [UInt8] = []
        var isText = false
        /// The elements of a value that is an array of objects; nil for any other value.
        var elements: ChatElements?
    }

    private struct Element {
        var members: [Member] = []

        func member(_ name: String) -> Member? { self.members.first { $0.name.elementsEqual(name.utf8) } }
    }

    /// Members whose pieces are concatenated.
    private static let growingNames: [StaticString] = ["text", "thinking", "summary", "data"]
    /// The approximate size of an element without its texts.
    private static let elementByteCount = 64
    /// Members beyond this number are left out.
    private static let maximumMemberCount = 32

    private var elements: [Element] = []
    /// The newest elements with an index, by index and type.
    private var places: [[UInt8]: Int] = [:]

    /// Indicates whether there is no element.
    var isEmpty: Bool { self.elements.isEmpty }

    /// Takes a piece; returns the number of bytes that are kept of it.
    ///
    /// Values that are not objects are left out.
    mutating func take(_ piece: Int, _ nodes: UnsafeBufferPointer<csj_node>) -> Int {
        guard nodes[piece].kind == csj_kind_object else { return 0 }
        let type = nodes.member("type", of: piece).map { Array(nodes[$0].content) } ?? []
        let key = nodes.member("index", of: piece).map { Array(nodes[$0].content) + [UInt8(ascii: " ")] + type }
        var place = key.map { self.places[$0] } ?? (self.elements.isEmpty ? nil : self.elements.count - 1)
        if let known = place, !self.continues(known, piece, type: type, nodes) { place = nil }
        let target = place ?? self.elements.count
        var byteCount = 0
        if place == nil {
            self.elements.append(Element())
            byteCount = Self.elementByteCount
        }
        if let key { self.places[key] = target }
        for member in nodes.children(of: piece) where nodes[member].kind != csj_kind_null {
            byteCount += self.take(member: member, of: target, nodes)
        }
        return byteCount
    }

    /// The array as JSON text.
    var json: [UInt8] {
        JSONArrayText.json(
            self.elements.map { element in
                let members = element.members.map { member in
                    let quote = member.isText ? [UInt8(ascii: "\"")] : []
                    return [UInt8(ascii: "\"")] + member.name + Array("\":".utf8)
                        + (member.elements.map { $0.json } ?? quote + member.json + quote)
                }
                return (Array("{".utf8) + members.joined(separator: [UInt8(ascii: ",")]) + Array("}".utf8))[...]
            })
    }

    /// Returns whether a piece continues an element.
    private func continues(
        _ place: Int, _ piece: Int, type: [UInt8], _ nodes: UnsafeBufferPointer<csj_node>
    ) -> Bool {
        let element = self.elements[place]
        if element.member("type").map({ $0.json != type }) ?? !type.isEmpty { return false }
        if let id = nodes.member("id", of: piece), let known = element.member("id") {
            guard nodes[id].content.elementsEqual(known.json) else { return false }
        }
        let isSigned = element.member("signature").map { !$0.json.isEmpty } ?? false
        return !isSigned || Self.growingNames.allSatisfy { nodes.text(of: $0, in: piece) == nil }
    }

    /// Takes a member of a piece: texts of some names grow, and of any other value the newest counts.
    private mutating func take(
        member: Int, of place: Int, _ nodes: UnsafeBufferPointer<csj_node>
    ) -> Int {
        let (name, value, kind) = (nodes[member].keyContent, nodes[member].content, nodes[member].kind)
        var index = self.elements[place].members.firstIndex { $0.name.elementsEqual(name) }
        if index == nil {
            guard self.elements[place].members.count < Self.maximumMemberCount else { return 0 }
            index = self.elements[place].members.count
            self.elements[place].members.append(Member(name: Array(name)))
        }
        guard let index else { return 0 }
        let isGrowing = Self.growingNames.contains { name.elementsEqual($0.description.utf8) }
        if isGrowing, kind == csj_kind_array {
            if self.elements[place].members[index].elements == nil {
                self.elements[place].members[index].elements = ChatElements()
            }
            return nodes.children(of: member).reduce(0) { sum, piece in
                sum + (self.elements[place].members[index].elements?.take(piece, nodes) ?? 0)
            }
        }
        let before = self.elements[place].members[index].json.count
        // An empty text takes nothing away: the signature of a piece may come before others without one.
        if kind == csj_kind_string, value.isEmpty, before > 0 { return 0 }
        if isGrowing, kind == csj_kind_string {
            self.elements[place].members[index].json += value
        } else {
            self.elements[place].members[index].json = Array(value)
        }
        self.elements[place].members[index].isText = kind == csj_kind_string
        return max(0, self.elements[place].members[index].json.count - before)
    }
}
