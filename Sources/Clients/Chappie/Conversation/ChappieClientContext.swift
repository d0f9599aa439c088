public import PlatformFoundation
import ResponseEvents

/// The state of a conversation: its identifier and items, which the next request carries.
///
/// A value that can be stored in a file, and from which another client can continue:
///
/// ```swift
/// try client.context.data().write(to: file)
/// let other = Chappie.client()
/// other.context = try ChappieClientContext(data: Data(contentsOf: file))
/// ```
///
/// The bytes are JSON that can be read: an item a line, and behind them `attachments`, the pictures and files to which
/// the items refer. It holds the whole content of the conversation: keep it like a secret.
public struct ChappieClientContext: Sendable, Equatable {
    /// The version of the form that `data()` and `encode(to:)` write; 1 is read as well.
    public static let version = 2

    /// The identifier of the conversation; the key of the prompt cache.
    public let id: String
    /// The items in order, each the JSON text of an input item.
    var itemTexts: [[UInt8]]

    /// Creates an empty conversation.
    public init() { self.init(id: UUID().uuidString.lowercased(), itemTexts: []) }

    /// Creates a conversation with an identifier and items.
    init(id: String, itemTexts: [[UInt8]]) {
        self.id = id
        self.itemTexts = itemTexts
    }

    /// Reads the output of `data()`; every failure is a `ChappieContextError`.
    public init(data: Data) throws {
        let bytes = Array(data)
        // The whole text is checked: the reader of an object does not read the values of its members.
        guard JSONDocumentValue(text: bytes) != nil, let object = try? JSONObjectText(bytes),
            case .number(let digits)? = object["version"].flatMap({ JSONDocumentValue(text: $0) }),
            let version = Int(digits)
        else { throw ChappieContextError.damaged }
        guard 1...Self.version ~= version else { throw ChappieContextError.unsupportedVersion(version) }
        guard let id = object.text(of: "id"), let items = object["items"].flatMap({ JSONArrayText($0) }) else {
            throw ChappieContextError.damaged
        }
        let texts = items.elements.map { element in
            guard case .string(let text) = JSONDocumentValue(text: element.json) else { return Array(element.json) }
            return Array(text.utf8)
        }
        let isOld = version == 1 && items.elements.contains { $0.json.first != UInt8(ascii: "\"") }
        guard !isOld else { throw ChappieContextError.damaged }
        try self.init(id: id, savedItems: texts, attachments: Self.attachments(in: object["attachments"]))
    }

    private static func attachments(in json: ArraySlice<UInt8>?) throws -> [String: String] {
        guard let json else { return [:] }
        guard let object = try? JSONObjectText(Array(json)) else { throw ChappieContextError.damaged }
        return Dictionary(object.members.map { ($0.name, object.text(of: $0.name) ?? "") }) { _, last in last }
    }

    /// Creates a conversation from items as they were saved.
    private init(id: String, savedItems: [[UInt8]], attachments: [String: String]) throws {
        let saved = SavedAttachments(attachments)
        let texts = savedItems.compactMap { saved.restoring($0) }
        guard texts.count == savedItems.count, texts.allSatisfy({ (try? JSONObjectText($0)) != nil }) else {
            throw ChappieContextError.damaged
        }
        self.init(id: id, itemTexts: texts)
    }

    /// Returns the context as JSON text in UTF-8: an item a line, each with its original text, and the pictures and
    /// files in them once, as the members of `attachments` to which the items refer.
    public func data() throws -> Data {
        var attachments = SavedAttachments()
        let items = self.itemTexts.map { attachments.moving(from: $0) }
        var output = Array(#"{"version":\#(Self.version),"id":"#.utf8)
        JSONText.append(self.id, to: &output)
        output += #","items":["#.utf8
        for (index, item) in items.enumerated() { output += (index == 0 ? "\n" : ",\n").utf8 + item }
        output += "\n]".utf8
        for (index, content) in attachments.contents.enumerated() {
            output += (index == 0 ? ",\"attachments\":{\n" : ",\n").utf8
            output += #""\#(index + 1)":"#.utf8
            JSONText.append(content, to: &output)
        }
        output += (attachments.contents.isEmpty ? "}" : "\n}}").utf8
        return Data(output)
    }

    /// The items in order: messages, reasoning, calls and their outputs.
    public var items: [ChappieJSONValue] {
        self.itemTexts.compactMap { ChappieJSONValue(jsonText: String(decoding: $0, as: UTF8.self)) }
    }

    /// Indicates whether the context has no items.
    public var isEmpty: Bool { self.itemTexts.isEmpty }
}

extension ChappieClientContext: Codable {
    private enum CodingKeys: String, CodingKey {
        case version
        case id
        case items
        case attachments
    }

    /// An item in the coders of Swift: a value, or text where the values of coders would not keep all of it.
    private struct CodedItem: Codable {
        let text: [UInt8]

        init(_ text: [UInt8]) { self.text = text }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let text = try? container.decode(String.self)
            self.text = Array(try (text ?? container.decode(ChappieJSONValue.self).jsonText).utf8)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            let text = String(decoding: self.text, as: UTF8.self)
            if let value = ChappieJSONValue(jsonText: text),
                CanonicalJSON.text(of: value.jsonText) == CanonicalJSON.text(of: text)
            {
                try container.encode(value)
            } else {
                try container.encode(text)
            }
        }
    }

    /// Reads a context; throws `ChappieContextError` for one of another version, and for a damaged one.
    public init(from decoder: any Decoder) throws {
        let container: KeyedDecodingContainer<CodingKeys>
        let version: Int
        do {
            container = try decoder.container(keyedBy: CodingKeys.self)
            version = try container.decode(Int.self, forKey: .version)
        } catch {
            throw ChappieContextError.damaged
        }
        guard 1...Self.version ~= version else { throw ChappieContextError.unsupportedVersion(version) }
        guard let id = try? container.decode(String.self, forKey: .id),
            let items = try? container.decode([CodedItem].self, forKey: .items),
            let attachments = try? container.decodeIfPresent([String: String].self, forKey: .attachments) ?? [:]
        else { throw ChappieContextError.damaged }
        try self.init(id: id, savedItems: items.map(\.text), attachments: attachments)
    }

    /// Writes the same form as `data()`, with the members of an item in the encoder's order.
    ///
    /// An item that the encoder's values would change, such as by a number of more than 15 digits, is written as text.
    public func encode(to encoder: any Encoder) throws {
        var attachments = SavedAttachments()
        let items = self.itemTexts.map { CodedItem(attachments.moving(from: $0)) }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(self.id, forKey: .id)
        try container.encode(items, forKey: .items)
        let contents = attachments.contents.enumerated().map { (String($0.offset + 1), $0.element) }
        guard !contents.isEmpty else { return }
        try container.encode(Dictionary(uniqueKeysWithValues: contents), forKey: .attachments)
    }
}

/// The reason for which a context cannot be read.
///
/// A minor version may add cases.
public enum ChappieContextError: Error, Sendable, Equatable, LocalizedError {
    /// It was written in an unknown version of the form; that version.
    case unsupportedVersion(Int)
    /// It was not written by this package, or is incomplete.
    case damaged

    /// A sentence fit for a log.
    public var errorDescription: String? {
        switch self {
        case .unsupportedVersion(let version):
            "The conversation was saved in version \(version) of the format; this program reads versions up to "
                + "\(ChappieClientContext.version)."
        case .damaged: "The saved conversation is damaged and cannot be read."
        }
    }
}
