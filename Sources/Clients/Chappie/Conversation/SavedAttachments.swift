import ResponseEvents

/// The pictures and files inside of a conversation's items, apart from the items of a saved conversation.
///
/// Of `data:` URLs and of pictures that the model has made, an item has a reference, such as `attachment:1`, and each
/// occurs once.
struct SavedAttachments {
    private static let scheme = "attachment:"
    /// Members of messages and outputs that have a URL, behind which the content may be.
    private static let urlMembers: Set<String> = ["image_url", "file_data"]
    /// Content is at most this deep inside of an item.
    private static let maximumDepth = 8

    /// The contents; the first one is named `1`.
    private(set) var contents: [String] = []
    private var names: [String: String] = [:]

    /// Creates an empty list.
    init() {}

    /// Reads contents by their names.
    init(_ contents: [String: String]) { self.names = contents }

    /// Returns an item with references in place of its contents.
    mutating func moving(from item: [UInt8]) -> [UInt8] {
        Self.replacing(in: item[...], depth: 0) { text, isContent in
            // A text that looks like a reference is moved too, so that it comes back as it is.
            guard isContent || text.hasPrefix("data:") || text.hasPrefix(Self.scheme) else { return text }
            if let name = self.names[text] { return Self.scheme + name }
            self.contents.append(text)
            let name = String(self.contents.count)
            self.names[text] = name
            return Self.scheme + name
        } ?? item
    }

    /// Returns an item with its contents in place of references; nil when one is missing.
    func restoring(_ item: [UInt8]) -> [UInt8]? {
        var isComplete = true
        let restored = Self.replacing(in: item[...], depth: 0) { text, _ in
            guard text.hasPrefix(Self.scheme) else { return text }
            guard let content = self.names[String(text.dropFirst(Self.scheme.count))] else {
                isComplete = false
                return text
            }
            return content
        }
        return isComplete ? restored ?? item : nil
    }

    /// Replaces texts that may be contents; nil when that changes none.
    ///
    /// The closure gets a text, and whether it is surely content.
    private static func replacing(
        in json: ArraySlice<UInt8>, depth: Int, _ replacement: (String, Bool) -> String
    ) -> [UInt8]? {
        guard depth < Self.maximumDepth else { return nil }
        switch json.first {
        case UInt8(ascii: "{"):
            guard var object = try? JSONObjectText(Array(json)) else { return nil }
            // The picture of such an item is its result, in Base64.
            let hasResult = object.text(of: "type") == "image_generation_call"
            var isChanged = false
            for member in object.members {
                let isResult = hasResult && member.name == "result"
                var changed = Self.replacing(in: member.json, depth: depth + 1, replacement)
                if isResult || Self.urlMembers.contains(member.name), let text = object.text(of: member.name) {
                    let other = replacement(text, isResult)
                    if other != text { changed = JSONText.string(other) }
                }
                guard let changed else { continue }
                object[member.name] = changed[...]
                isChanged = true
            }
            return isChanged ? object.json : nil
        case UInt8(ascii: "["):
            guard let elements = JSONArrayText(json)?.elements else { return nil }
            let changed = elements.map { Self.replacing(in: $0.json, depth: depth + 1, replacement) }
            guard changed.contains(where: { $0 != nil }) else { return nil }
            return JSONArrayText.json(zip(elements, changed).map { element, changed in changed?[...] ?? element.json })
        default: return nil
        }
    }
}
