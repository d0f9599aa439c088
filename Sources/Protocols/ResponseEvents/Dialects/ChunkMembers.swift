// The values of a chunk in the scanner's list of nodes, which are valid until its next call. Pure.

import CSimdjson

/// The places of the members of a chunk that are read; of members with the same name the last one counts.
struct ChunkMembers {
    private(set) var choices: Int?
    /// Indicates whether there is an `error` other than `null`.
    private(set) var hasError = false
    /// Indicates whether the object is a chunk: it has choices, says that it is one, or has the usage.
    private(set) var isChunk = false
    private(set) var type: Int?
    private(set) var id: Int?
    private(set) var model: Int?
    private(set) var serviceTier: Int?
    private(set) var usage: Int?
    /// `obfuscation`, with which OpenAI hides the length of a delta.
    private(set) var obfuscation: Int?
    /// `x_groq`, in which Groq's older servers have the usage.
    private(set) var groq: Int?

    /// Finds the members of an object; texts are found only where they are texts.
    init(_ nodes: UnsafeBufferPointer<csj_node>, of object: Int) {
        for place in nodes.children(of: object) {
            let (node, kind) = (nodes[place], nodes[place].kind)
            if node.isNamed("choices") {
                self.choices = kind == csj_kind_null ? nil : place
                if kind == csj_kind_array || kind == csj_kind_object { self.isChunk = true }
            } else if node.isNamed("error") {
                self.hasError = kind != csj_kind_null
            } else if node.isNamed("usage") {
                self.usage = place
                if kind == csj_kind_object { self.isChunk = true }
            } else if node.isNamed("x_groq") {
                self.groq = kind == csj_kind_object ? place : nil
            } else if node.isNamed("object") {
                if nodes[place].content.starts(with: "chat.completion".utf8) { self.isChunk = true }
            } else if kind == csj_kind_string {
                self.take(text: node, at: place)
            }
        }
    }

    private mutating func take(text node: csj_node, at place: Int) {
        if node.isNamed("id") {
            self.id = place
        } else if node.isNamed("model") {
            self.model = place
        } else if node.isNamed("service_tier") {
            self.serviceTier = place
        } else if node.isNamed("type") {
            self.type = place
        } else if node.isNamed("obfuscation") {
            self.obfuscation = place
        }
    }
}

extension csj_node {
    /// Returns whether the member's name is written so.
    func isNamed(_ name: StaticString) -> Bool { csj_is_text(self.key, name.utf8Start, name.utf8CodeUnitCount) }

    /// Returns whether the value, or the content of the string, is written so.
    func isWritten(_ word: StaticString) -> Bool { csj_is_text(self.json, word.utf8Start, word.utf8CodeUnitCount) }

    /// The value as it was written; of a string what is between its quotes.
    var content: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.json.bytes, count: self.json.count) }

    /// The member's name as it was written between its quotes.
    var keyContent: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.key.bytes, count: self.key.count) }
}

extension UnsafeBufferPointer<csj_node> {
    /// Returns the place of a member of an object; nil when it is absent or `null`.
    func member(_ name: StaticString, of object: Int) -> Int? {
        guard self[object].kind == csj_kind_object else { return nil }
        var found: Int?
        for place in self.children(of: object) where self[place].isNamed(name) { found = place }
        return found.flatMap { self[$0].kind == csj_kind_null ? nil : $0 }
    }

    /// Returns the place of a member that is a text and not empty.
    func text(of name: StaticString, in object: Int) -> Int? {
        guard let place = self.member(name, of: object), self[place].kind == csj_kind_string, self[place].json.count > 0
        else { return nil }
        return place
    }

    /// Returns the place of a member that is an object; nil when it is absent or `null`.
    func object(_ name: StaticString, in object: Int) throws(ResponseEventError) -> Int? {
        guard let place = self.member(name, of: object) else { return nil }
        guard self[place].kind == csj_kind_object else { throw .invalidField(.delta) }
        return place
    }

    /// Returns the objects of an array, or the one object in its place.
    func elements(of place: Int) throws(ResponseEventError) -> [Int] {
        let elements = self[place].kind == csj_kind_array ? Array(self.children(of: place)) : [place]
        guard elements.allSatisfy({ self[$0].kind == csj_kind_object }) else { throw .invalidField(.delta) }
        return elements
    }

    /// Returns an integer, written as a number or as text.
    func integer(at place: Int) -> Int? {
        let (kind, count) = (self[place].kind, self[place].json.count)
        guard kind == csj_kind_number || kind == csj_kind_string, count <= 20 else { return nil }
        // Most indices have one digit.
        if count == 1, let digit = self[place].content.first, (0x30...0x39).contains(digit) { return Int(digit) - 0x30 }
        return Int(String(decoding: self[place].content, as: UTF8.self))
    }

    /// Returns whether a choice is the first one: it has the index 0, or none.
    func isFirstChoice(_ choice: Int) -> Bool {
        guard self[choice].kind == csj_kind_object else { return false }
        return self.member("index", of: choice).flatMap { self.integer(at: $0) }.map { $0 == 0 } ?? true
    }

    /// Returns the content of a string, or any other value's JSON as the content of one.
    func textOrJSON(at place: Int) -> [UInt8] {
        guard self[place].kind != csj_kind_string else { return Array(self[place].content) }
        return JSONText.content(of: String(decoding: self[place].content, as: UTF8.self))
    }
}
