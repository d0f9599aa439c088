// The members of an item that belong to one dialect, and an item's form in another. Pure.

/// An item may have one member that is named after a dialect, an object and its last member: what goes back with the item
/// to a server of that dialect, which no other one knows. With reasoning it is what an answer's message has beside its
/// text and its calls; with a call, what the call has beside its name and its arguments.
extension ChappieDialect {
    /// The name of that member; nil for the dialect in which an item goes back as it is.
    package var itemMember: String? {
        switch self {
        case .responses: nil
        case .chatCompletions, .messages: self.rawValue
        }
    }

    /// Returns whether an item has such a member of any dialect.
    static func hasMember(in item: JSONObjectText) -> Bool {
        Self.allCases.contains { $0.itemMember.map { item.object($0) != nil } ?? false }
    }

    /// Returns whether a request in the dialect has an item: reasoning, and an item that is nothing but another dialect's
    /// member, go back only to the API that they came from.
    ///
    /// Encrypted reasoning is the Responses API's, and so is plain reasoning that a program has written.
    package func includes(_ item: JSONObjectText) -> Bool {
        guard item.string("type")?.isExactly("reasoning") == true else {
            guard item.members.count == 2, item["type"] != nil else { return true }
            return !Self.allCases.contains { other in
                other != self && other.itemMember.map { item.object($0) != nil } ?? false
            }
        }
        if let name = self.itemMember { return item.object(name) != nil }
        return item.string("encrypted_content") != nil || !Self.hasMember(in: item)
    }

    /// Returns items as a request in the dialect has them, without reasoning and members of other dialects.
    ///
    /// Only an item whose bytes have the name of such a member is parsed.
    package func forms(of items: [[UInt8]]) -> [[UInt8]] {
        let names = Self.allCases.filter { $0 != self }.compactMap(\.itemMember)
        let marks = names.map { Array("\"\($0)\"".utf8) }
        return items.compactMap { json in
            guard marks.contains(where: { json.contains(text: $0) }), var item = try? JSONObjectText(json) else {
                return json
            }
            guard self.includes(item) else { return nil }
            let members = names.filter { item.object($0) != nil }
            guard !members.isEmpty else { return json }
            for name in members { item[name] = nil }
            return item.json
        }
    }
}

extension JSONObjectText {
    /// Returns a member that is an object, as it is written.
    package func object(_ name: String) -> ArraySlice<UInt8>? {
        self[name].flatMap { $0.first == UInt8(ascii: "{") ? $0 : nil }
    }
}

extension [UInt8] {
    /// Returns whether a text occurs; it is not empty.
    fileprivate func contains(text: [UInt8]) -> Bool {
        self.withUnsafeBufferPointer { bytes in
            bytes.indices.dropLast(text.count - 1).contains { start in
                bytes[start] == text[0] && bytes[start..<start + text.count].elementsEqual(text)
            }
        }
    }
}
