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
    /// `x_groq`, in which Groq's older servers have the usage.
    private(set) var groq: Int?

    /// Finds the members of an object; texts are found only where they are texts, and `choices` where it is an array.
    init(_ nodes: UnsafeBufferPointer<csj_node>, of object: Int) {
        for place in nodes.children(of: object) {
            let (key, kind) = (nodes[place].keyContent, nodes[place].kind)
            if key.elementsEqual("choices".utf8) {
                self.choices = kind == csj_kind_array ? place : nil
                if kind == csj_kind_array { self.isChunk = true }
            } else if key.elementsEqual("error".utf8) {
                self.hasError = kind != csj_kind_null
            } else if key.elementsEqual("usage".utf8) {
                self.usage = place
                if kind == csj_kind_object { self.isChunk = true }
            } else if key.elementsEqual("x_groq".utf8) {
                self.groq = kind == csj_kind_object ? place : nil
            } else if key.elementsEqual("object".utf8) {
                if nodes[place].content.starts(with: "chat.completion".utf8) { self.isChunk = true }
            } else if kind == csj_kind_string {
                self.take(text: key, at: place)
            }
        }
    }

    private mutating func take(text key: UnsafeBufferPointer<UInt8>, at place: Int) {
        if key.elementsEqual("id".utf8) {
            self.id = place
        } else if key.elementsEqual("model".utf8) {
            self.model = place
        } else if key.elementsEqual("service_tier".utf8) {
            self.serviceTier = place
        } else if key.elementsEqual("type".utf8) {
            self.type = place
        }
    }
}

extension csj_node {
    /// The value as it was written; of a string what is between its quotes.
    var content: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.json.bytes, count: self.json.count) }

    /// The member's name as it was written between its quotes.
    var keyContent: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: self.key.bytes, count: self.key.count) }
}

extension UnsafeBufferPointer<csj_node> {
    /// Returns the place of a member of an object; nil when it is absent or `null`.
    func member(_ name: String, of object: Int) -> Int? {
        guard self[object].kind == csj_kind_object else { return nil }
        var found: Int?
        for place in self.children(of: object) where self[place].keyContent.elementsEqual(name.utf8) { found = place }
        return found.flatMap { self[$0].kind == csj_kind_null ? nil : $0 }
    }

    /// Returns the place of a member that is a text and not empty.
    func text(of name: String, in object: Int) -> Int? {
        guard let place = self.member(name, of: object), self[place].kind == csj_kind_string, self[place].json.count > 0
        else { return nil }
        return place
    }

    /// Returns an integer, written as a number or as text.
    func integer(at place: Int) -> Int? {
        guard [csj_kind_number, csj_kind_string].contains(self[place].kind), self[place].json.count <= 20 else {
            return nil
        }
        return Int(String(decoding: self[place].content, as: UTF8.self))
    }

    /// Returns whether a choice is the first one: it has the index 0, or none.
    func isFirstChoice(_ choice: Int) -> Bool {
        guard self[choice].kind == csj_kind_object else { return false }
        return self.member("index", of: choice).map { self.integer(at: $0) == 0 } ?? true
    }

    /// Returns the content of a string, or any other value's JSON as the content of one.
    func textOrJSON(at place: Int) -> [UInt8] {
        guard self[place].kind != csj_kind_string else { return Array(self[place].content) }
        return JSONText.content(of: String(decoding: self[place].content, as: UTF8.self))
    }
}
