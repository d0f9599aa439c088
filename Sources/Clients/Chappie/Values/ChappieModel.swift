public import PlatformFoundation

/// A model that a server offers.
///
/// ```swift
/// for model in try await client.models() { print(model.id) }
/// ```
public struct ChappieModel: Sendable, Equatable {
    /// Its name in requests.
    public let id: String
    /// Its name for people, where the server has one.
    public let displayName: String?
    /// The model's creator, as the server names it.
    public let owner: String?
    /// The date of its creation.
    public let created: Date?

    /// Creates a model.
    public init(id: String, displayName: String? = nil, owner: String? = nil, created: Date? = nil) {
        self.id = id
        self.displayName = displayName
        self.owner = owner
        self.created = created
    }

    /// Reads a model; nil without a name.
    private init?(_ value: ChappieJSONValue) {
        guard let id = value["id"]?.string ?? value["slug"]?.string, !id.isEmpty else { return nil }
        self.init(
            id: id, displayName: value["display_name"]?.string, owner: value["owned_by"]?.string,
            created: value["created"]?.number.map { Date(timeIntervalSince1970: $0) })
    }

    /// Returns the models in a list: `data` as in the public API, or `models` as for ChatGPT's own programs; nil when
    /// it is neither.
    static func models(in body: [UInt8]) -> [ChappieModel]? {
        guard let list = ChappieJSONValue(jsonText: String(decoding: body, as: UTF8.self)) else { return nil }
        guard case .array(let elements)? = list["data"] ?? list["models"] else { return nil }
        return elements.compactMap { ChappieModel($0) }
    }
}
