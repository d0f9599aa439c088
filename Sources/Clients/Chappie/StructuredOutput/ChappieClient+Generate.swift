import ChappieTransport
public import PlatformFoundation
import TransportSurface

extension ChappieClient {
    /// Sends a message, and returns the answer as a value: see `generate(_:as:schema:)` for a request.
    public func generate<Value: Decodable>(
        _ prompt: String, as type: Value.Type = Value.self, schema: ChappieJSONSchema? = nil
    ) async throws -> Value {
        try await self.generate(ChappieResponseRequest(prompt), as: type, schema: schema)
    }

    /// Sends a message, and returns the answer as a value: see `generate(_:as:schema:)` for a request.
    public func generate<Value: Decodable>(
        _ message: ChappieInputMessage, as type: Value.Type = Value.self, schema: ChappieJSONSchema? = nil
    ) async throws -> Value {
        try await self.generate(ChappieResponseRequest(message), as: type, schema: schema)
    }

    /// Sends a request with a schema, and returns the answer as a value that `JSONDecoder` has decoded.
    ///
    /// ```swift
    /// struct City: Codable, Sendable {
    ///     let name: String
    ///     let population: Int?
    /// }
    /// let city = try await client.generate("The capital of Norway?", as: City.self)
    /// ```
    ///
    /// The schema is the given one, or that of the request's `textFormat`, or is derived from the type
    /// (`ChappieJSONSchema.init(of:)`). Dates are read in ISO 8601, and `Data` in Base64. The turn is streamed, runs tools
    /// and belongs to the conversation like any other. Its answer is the last message.
    ///
    /// Throws `ChappieStructuredOutputError` for a type without a schema, before anything is sent, for a refusal, and
    /// for an answer that is incomplete or does not match the type; other errors are those of a stream.
    public func generate<Value: Decodable>(
        _ request: ChappieResponseRequest, as type: Value.Type = Value.self, schema: ChappieJSONSchema? = nil
    ) async throws -> Value {
        try await self.generate(request, as: type, schema: schema, decoder: .ofAnswers())
    }

    /// Sends a message, and returns the answer as a value that a decoder has decoded: see
    /// `generate(_:as:schema:decoder:)` for a request.
    public func generate<Value: Decodable>(
        _ prompt: String, as type: Value.Type = Value.self, schema: ChappieJSONSchema? = nil, decoder: JSONDecoder
    ) async throws -> Value {
        try await self.generate(ChappieResponseRequest(prompt), as: type, schema: schema, decoder: decoder)
    }

    /// Sends a message, and returns the answer as a value that a decoder has decoded: see
    /// `generate(_:as:schema:decoder:)` for a request.
    public func generate<Value: Decodable>(
        _ message: ChappieInputMessage, as type: Value.Type = Value.self, schema: ChappieJSONSchema? = nil,
        decoder: JSONDecoder
    ) async throws -> Value {
        try await self.generate(ChappieResponseRequest(message), as: type, schema: schema, decoder: decoder)
    }

    /// Sends a request with a schema, and returns the answer as a value that a decoder has decoded.
    ///
    /// As `generate(_:as:schema:)`, but for the decoder, whose strategies also decide how a derived schema describes
    /// `Date` and `Data` (`ChappieJSONSchema.init(of:decoder:)`).
    public func generate<Value: Decodable>(
        _ request: ChappieResponseRequest, as type: Value.Type = Value.self, schema: ChappieJSONSchema? = nil,
        decoder: JSONDecoder
    ) async throws -> Value {
        var request = request
        let schema = try schema ?? request.textFormat?.schema?.schema ?? ChappieJSONSchema(of: type, decoder: decoder)
        if request.textFormat?.schema?.schema != schema {
            request.textFormat = try .jsonSchema(name: Self.schemaName(of: type), schema: schema)
        }
        let turn = self.turn(request)
        var answer = StructuredAnswer()
        do {
            while let events = try await turn.next(for: .batches, reusing: []) { answer.add(events) }
        } catch ChappieClientError.responseTerminalFailure(let response) where response.status == "incomplete" {
            throw ChappieStructuredOutputError.incomplete(response)
        }
        answer.takeLastMessage(of: turn.summary.lastItems)
        return try answer.value(of: type, schema: schema, decoder: decoder)
    }

    /// Returns the name of a type as a name of a schema.
    static func schemaName(of type: any Any.Type) -> String {
        let characters = String(describing: type).utf8.prefix(64).map { byte in
            TextRule.name(String(decoding: [byte], as: UTF8.self)) == nil ? byte : UInt8(ascii: "_")
        }
        return String(decoding: characters, as: UTF8.self)
    }
}
