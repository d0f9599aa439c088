// The events of OpenAI's Realtime API, as far as a conversation in text needs them.

/// An event of the client.
struct ClientEvent: Encodable {
    /// The settings of the session that are changed.
    struct Session: Encodable {
        var type = "realtime"
        var instructions: String
        var outputModalities = ["text"]

        private enum CodingKeys: String, CodingKey {
            case type, instructions
            case outputModalities = "output_modalities"
        }
    }

    /// An item of the conversation.
    struct Item: Encodable {
        /// A part of a message.
        struct Part: Encodable {
            var type = "input_text"
            var text: String
        }

        var type = "message"
        var role = "user"
        var content: [Part]
    }

    /// The name of the cancellation, with which the server reports that it came too late.
    static let cancellationID = "cancellation"

    var type: String
    /// The client's name for the event; nil for none.
    var eventID: String?
    var session: Session?
    var item: Item?

    private enum CodingKeys: String, CodingKey {
        case type, session, item
        case eventID = "event_id"
    }

    /// Returns the event that gives the model its instructions, and asks for text.
    static func updateSession(instructions: String) -> Self {
        Self(type: "session.update", session: Session(instructions: instructions))
    }

    /// Returns the event that adds a person's message to the conversation.
    static func addMessage(_ text: String) -> Self {
        Self(type: "conversation.item.create", item: Item(content: [Item.Part(text: text)]))
    }

    /// The event that asks for an answer.
    static var createResponse: Self { Self(type: "response.create") }

    /// The event that ends the answer.
    static var cancelResponse: Self { Self(type: "response.cancel", eventID: Self.cancellationID) }
}

/// An event of the server.
struct ServerEvent: Decodable {
    /// A response, whole or in progress.
    struct Response: Decodable {
        /// The status: `in_progress`, `completed`, `cancelled`, `incomplete` or `failed`.
        var status: String?
    }

    /// The description of an error.
    struct Problem: Decodable {
        /// The server's name for it.
        var code: String?
        /// The client's name for the event that caused it.
        var eventID: String?

        private enum CodingKeys: String, CodingKey {
            case code
            case eventID = "event_id"
        }
    }

    /// The name of the event.
    var type: String
    /// The piece of text; nil for other events.
    var delta: String?
    /// The response; nil for events that are not about its beginning or end.
    var response: Response?
    /// The error; nil for other events.
    var error: Problem?
}
