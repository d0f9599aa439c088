/// A type that describes its members to the model, in the schema that is derived from it.
///
/// ```swift
/// struct Order: Decodable, ChappieDescribed {
///     let item: String
///     let due: Date?
///     static let memberDescriptions = ["item": "The article's number", "due": "The last day; null if there is none"]
/// }
/// ```
public protocol ChappieDescribed {
    /// The descriptions of members, by the names that they have in JSON.
    ///
    /// A name that the type does not decode is `ChappieSchemaObstacle.unknownMember`.
    static var memberDescriptions: [String: String] { get }
}
