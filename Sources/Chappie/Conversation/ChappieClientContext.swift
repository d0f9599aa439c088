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
/// It holds the whole content of the conversation: keep it like a secret.
public struct ChappieClientContext: Sendable, Equatable {
    /// The version of the form that `encode(to:)` writes.
    public static let version = 1

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
        do {
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch let error as ChappieContextError {
            throw error
        } catch {
            throw ChappieContextError.damaged
        }
    }

    /// Returns the context as JSON text in UTF-8.
    public func data() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
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
        guard version == Self.version else { throw ChappieContextError.unsupportedVersion(version) }
        guard let id = try? container.decode(String.self, forKey: .id),
            let texts = try? container.decode([String].self, forKey: .items)
        else { throw ChappieContextError.damaged }
        self.init(id: id, itemTexts: texts.map { Array($0.utf8) })
        guard self.itemTexts.allSatisfy({ Self.isItem($0) }) else { throw ChappieContextError.damaged }
    }

    /// Writes each item with its original text, so that no part of it is lost.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(self.id, forKey: .id)
        try container.encode(self.itemTexts.map { String(decoding: $0, as: UTF8.self) }, forKey: .items)
    }

    private static func isItem(_ text: [UInt8]) -> Bool { (try? JSONObjectText(text)) != nil }
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
            "The conversation was saved in version \(version) of the format; this program reads version "
                + "\(ChappieClientContext.version)."
        case .damaged: "The saved conversation is damaged and cannot be read."
        }
    }
}
