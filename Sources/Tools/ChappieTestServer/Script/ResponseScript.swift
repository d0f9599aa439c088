// The events of one response, and the builder that numbers them.
//
// Pure values. JSON is written member by member, in the order that services use.

/// One event of a response.
struct ScriptEvent: Sendable {
    /// The event's type; empty when the payload has none.
    var type: String
    /// The JSON text.
    var text: String
    /// Indicates whether the event has a sequence number.
    var isNumbered = true
    /// Indicates whether the event is the mark at the end of a chat completion.
    var isEndMark = false

    /// The sequence number; nil when the event has none.
    var number: Int? {
        guard self.isNumbered, case .number(let text)? = JSONValue(Array(self.text.utf8))?["sequence_number"] else {
            return nil
        }
        return Int(text)
    }

    /// Indicates whether the response ends with the event.
    var isTerminal: Bool {
        self.isEndMark
            || ["response.completed", "response.failed", "response.incomplete", "error"].contains(self.type)
    }

    /// Creates a recorded event, unchanged.
    init(recorded text: String) {
        let value = JSONValue(Array(text.utf8))
        self.type = value?["type"]?.string ?? ""
        self.text = text
        self.isNumbered = value?["sequence_number"] != nil
    }

    /// Creates an event with a type and its text.
    init(type: String, text: String, isNumbered: Bool = true) {
        self.type = type
        self.text = text
        self.isNumbered = isNumbered
    }
}

/// The common members of all response objects of one response.
struct ResponseIdentity: Sendable {
    /// The creation time of all scripted responses, in seconds since 1970.
    static let creationTime = 1_795_242_651

    /// The members of a request that a response object repeats, or the defaults: clients of Open Responses require all
    /// of them.
    private static let settings =
        #""background":false,"frequency_penalty":0,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"#
        + #""metadata":{},"presence_penalty":0,"prompt_cache_key":null,"reasoning":null,"safety_identifier":null,"#
        + #""service_tier":"default","temperature":1,"text":{"format":{"type":"text"}},"top_logprobs":0,"top_p":1,"#
        + #""truncation":"disabled""#

    /// The response's id.
    var id: String
    /// The model's name, as the request has it.
    var model: String
    /// The response that this one continues.
    var previousID: String?
    /// Indicates whether the request asked to keep the response.
    var isStored: Bool

    /// Returns a response object with a status; the parts are JSON text.
    func object(
        status: String, output: String = "[]", usage: String = "null", error: String = "null",
        incompleteDetails: String = "null"
    ) -> String {
        let previous = self.previousID.map { JSONValue.quoted($0) } ?? "null"
        let completionTime = status == "completed" ? "\(Self.creationTime + 4)" : "null"
        return "{\"id\":\"\(self.id)\",\"object\":\"response\",\"created_at\":\(Self.creationTime),"
            + "\"status\":\"\(status)\",\"error\":\(error),\"incomplete_details\":\(incompleteDetails),"
            + "\"model\":\(JSONValue.quoted(self.model)),\"output\":\(output),\"parallel_tool_calls\":true,"
            + "\"previous_response_id\":\(previous),\"store\":\(self.isStored),\"tool_choice\":\"auto\",\"tools\":[],"
            + "\"usage\":\(usage),\"completed_at\":\(completionTime),\(Self.settings)}"
    }

    /// The token counts of a response, as JSON text.
    static func usage(inputByteCount: Int, outputByteCount: Int, reasoningTokens: Int) -> String {
        let input = 1 + inputByteCount / 4
        let output = 1 + outputByteCount / 4 + reasoningTokens
        return "{\"input_tokens\":\(input),\"input_tokens_details\":{\"cached_tokens\":\(input / 2),"
            + "\"cache_write_tokens\":0},\"output_tokens\":\(output),\"output_tokens_details\":"
            + "{\"reasoning_tokens\":\(reasoningTokens)},\"total_tokens\":\(input + output)}"
    }
}

/// Recorded events, read once.
struct Recording: Sendable {
    /// The events, in order.
    let events: [ScriptEvent]
    /// The id of the recorded response.
    private(set) var responseID: String?
    /// The model of the recorded response.
    private(set) var model: String?
    /// The tool calls in the recording.
    let callIDs: [String]

    /// Reads events, one JSON text a line; empty lines are left out.
    init(_ lines: [String]) {
        self.events = lines.filter { !$0.trimmed.isEmpty }.map(ScriptEvent.init(recorded:))
        self.callIDs = self.events.filter { $0.type == "response.output_item.done" }.flatMap {
            Conversation.callIDs(inItem: JSONValue(Array($0.text.utf8))?["item"])
        }
        for event in self.events where event.type.hasPrefix("response.") {
            guard let response = JSONValue(Array(event.text.utf8))?["response"] else { continue }
            self.responseID = response["id"]?.string
            self.model = response["model"]?.string
            break
        }
    }
}

/// A response as a list of events.
struct ResponseScript: Sendable {
    /// The events, in order.
    private(set) var events: [ScriptEvent] = []
    /// The sequence number of the next event.
    private(set) var nextSequenceNumber = 0
    /// The common members of the response objects.
    let identity: ResponseIdentity
    /// The tool calls that the response makes.
    var callIDs: [String] = []

    /// Creates a script without events.
    init(identity: ResponseIdentity) { self.identity = identity }

    /// Creates a script of recorded events.
    init(_ recording: Recording, identity: ResponseIdentity) {
        var identity = identity
        identity.id = recording.responseID ?? identity.id
        identity.model = recording.model ?? identity.model
        self.events = recording.events
        self.identity = identity
        self.callIDs = recording.callIDs
    }

    /// Adds an event; `members` are JSON members without braces, between the type and the number.
    mutating func add(_ type: String, _ members: String) {
        self.events.append(
            ScriptEvent(type: type, text: Self.text(type, members, sequenceNumber: self.nextSequenceNumber)))
        self.nextSequenceNumber += 1
    }

    /// Removes events up to a sequence number.
    mutating func removeEvents(upTo number: Int) {
        self.events.removeAll { $0.number.map { $0 <= number } ?? false }
    }

    /// Adds events without a number in front.
    mutating func prepend(_ events: [ScriptEvent]) { self.events.insert(contentsOf: events, at: 0) }

    /// An event's JSON text.
    static func text(_ type: String, _ members: String, sequenceNumber: Int) -> String {
        "{\"type\":\"\(type)\",\(members),\"sequence_number\":\(sequenceNumber)}"
    }
}
