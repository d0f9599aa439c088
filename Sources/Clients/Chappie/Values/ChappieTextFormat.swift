public import ChappieTransport
import ResponseEvents
import TransportSurface

/// The format of the model's text (`text.format`).
///
/// ```swift
/// var request = ChappieResponseRequest("The capital of Norway?")
/// let schema = try ChappieJSONSchema(parsing: #"{"type":"object","properties":{"city":{"type":"string"}}}"#)
/// request.textFormat = try .jsonSchema(name: "city", schema: schema)
/// ```
public struct ChappieTextFormat: Sendable, Equatable {
    /// A schema with its name and options.
    struct Schema: Sendable, Equatable {
        let name: String
        let schema: ChappieJSONSchema
        let isStrict: Bool
        let description: String?
    }

    private enum Kind: Equatable {
        case text
        case jsonObject
        case schema(Schema)
    }

    private let kind: Kind

    /// Text of any form, the server's default.
    public static let text = Self(kind: .text)
    /// Any JSON object; servers require the word JSON in the input.
    public static let jsonObject = Self(kind: .jsonObject)

    /// Returns the format of JSON that a schema describes.
    ///
    /// - Parameters:
    ///   - name: the schema's name for the model, 1 to 64 of `A–Z a–z 0–9 _ -`.
    ///   - schema: the schema.
    ///   - isStrict: whether the server restricts the model to the schema, which then has to close every object. Nil,
    ///     the default: if it does (`ChappieJSONSchema.closesObjects`).
    ///   - description: the purpose of the format, for the model.
    /// - Returns: the format.
    /// - Throws: `ChappieArgumentError` for a name that cannot be sent.
    public static func jsonSchema(
        name: String, schema: ChappieJSONSchema, isStrict: Bool? = nil, description: String? = nil
    ) throws(ChappieArgumentError) -> Self {
        if let fault = TextRule.name(name) { throw ChappieArgumentError("name", fault) }
        let strictness = isStrict ?? schema.closesObjects
        return Self(
            kind: .schema(Schema(name: name, schema: schema, isStrict: strictness, description: description)))
    }

    /// The schema with its options; nil for another format.
    var schema: Schema? {
        guard case .schema(let schema) = self.kind else { return nil }
        return schema
    }

    /// The format as JSON text.
    var json: [UInt8] {
        var object = JSONObjectText()
        switch self.kind {
        case .text: object.setText("text", for: "type")
        case .jsonObject: object.setText("json_object", for: "type")
        case .schema(let schema):
            object.setText("json_schema", for: "type")
            object.setText(schema.name, for: "name")
            if let description = schema.description { object.setText(description, for: "description") }
            object.setJSON(schema.isStrict ? "true" : "false", for: "strict")
            object.setJSON(schema.schema.jsonText, for: "schema")
        }
        return object.json
    }
}
