// A request for a response, and its two forms: a message of a WebSocket, and the body of an HTTP request. A value.

/// The reason for which bytes are not a request body.
package enum ResponseRequestBodyError: Error, Equatable, Sendable {
    /// The body is not a JSON object; the reason is the scanner's.
    case invalidBody(ResponseEventError)
    /// The input is neither a text nor an array.
    case invalidInput
    /// The language of the server has no form for a part of the request, in words.
    case notInDialect(String)
}

/// A request for a response: the caller's JSON object with a few members replaced.
///
/// Members that are not replaced keep the text they were written in, numbers to the last digit. Of members with the
/// same name the last one is used.
package struct ResponseRequestBody: Equatable, Sendable {
    private var members: JSONObjectText

    /// The members as they are.
    var object: JSONObjectText { self.members }

    /// Reads a whole JSON object and applies the overrides.
    package init(json: [UInt8], overrides: Overrides = Overrides()) throws(ResponseRequestBodyError) {
        do {
            self.members = try JSONObjectText(json)
        } catch {
            throw .invalidBody(error)
        }
        try self.apply(overrides)
    }

    /// Returns the message that asks for the response over a WebSocket.
    ///
    /// It has no `stream` and no `background`. With a continuation, the input is only the new part.
    package func webSocketMessage(_ options: WebSocketOptions = WebSocketOptions()) throws(ResponseRequestBodyError)
        -> [UInt8]
    {
        var message = JSONObjectText()
        message["type"] = JSONText.string("response.create")[...]
        message.append(
            contentsOf: self.members.members.lazy.filter { member in
                !["type", "stream", "background"].contains { member.name.isExactly($0) }
            })
        if let continuation = options.continuation {
            guard JSONArrayText(continuation.inputJSON) != nil else { throw .invalidInput }
            message["previous_response_id"] = JSONText.string(continuation.previousResponseID)[...]
            message["input"] = continuation.inputJSON[...]
        }
        if let turnState = options.turnState {
            message.set(DialectFields.turnState, in: "client_metadata", to: JSONText.string(turnState))
        }
        for (name, value) in options.metadata.sorted(by: { $0.key < $1.key }) {
            message.set(name, in: "client_metadata", to: JSONText.string(value))
        }
        if let streamID = options.streamID { message["stream_id"] = JSONText.string(streamID)[...] }
        if options.isWarmUp { message["generate"] = Array("false".utf8)[...] }
        return message.json
    }

    /// Returns the body that asks for the response over HTTP, as an event stream.
    ///
    /// It refers to no state of a connection; a `previous_response_id` of the caller refers to a stored response and is
    /// kept.
    package func httpBody() -> [UInt8] {
        var body = self.members
        for name in ["type", "generate", "stream_id"] { body[name] = nil }
        body["stream"] = Array("true".utf8)[...]
        return body.json
    }

    /// Indicates whether the server can be asked for the rest of a broken stream: the response is stored and made in
    /// the background.
    package var isResumable: Bool { self.isTrue("background") && self.isTrue("store") }

    /// The elements of `input`, each as JSON text; nil when the input is a text or absent.
    package var inputElements: [[UInt8]]? {
        self.members["input"].flatMap { JSONArrayText($0) }?.elements.map { Array($0.json) }
    }

    /// Indicates whether the response is made in the background, which a WebSocket cannot ask for.
    package var isBackground: Bool { self.isTrue("background") }

    /// The lane that the caller requests, on a connection that carries several responses.
    package var streamID: [UInt8]? {
        // The characters of a lane's name need no escape.
        self.members["stream_id"].flatMap {
            $0.count > 2 && $0.first == UInt8(ascii: "\"") ? Array($0.dropFirst().dropLast()) : nil
        }
    }

    /// Indicates whether the input is acceptable: see `JSONObjectText.hasAcceptableInput`.
    package var hasAcceptableInput: Bool { self.members.hasAcceptableInput }

    /// The input as items, each as JSON text; nil when it is neither a text nor an array, nor absent.
    package var inputItems: [[UInt8]]? {
        guard let input = self.members["input"] else { return [] }
        if let elements = self.inputElements { return elements }
        guard input.first == UInt8(ascii: "\"") else { return nil }
        return [Array(#"{"type":"message","role":"user","content":"#.utf8) + Array(input) + Array("}".utf8)]
    }

    mutating func replaceInput(with json: [UInt8]) { self.members["input"] = json[...] }

    /// Returns whether two requests differ only in their input and in members that concern one transmission.
    package func isContinuation(of other: ResponseRequestBody) -> Bool {
        self.lastingMembers == other.lastingMembers
    }

    /// The members that concern more than the input and one transmission.
    private var lastingMembers: [ExactText: ArraySlice<UInt8>] {
        let passing: Set<ExactText> = [
            ExactText("type"), ExactText("input"), ExactText("previous_response_id"), ExactText("stream_options"),
            ExactText("client_metadata"), ExactText("generate"),
        ]
        let members = self.members.members.lazy.map { (ExactText($0.name), $0.json) }
        return Dictionary(members.filter { !passing.contains($0.0) }, uniquingKeysWith: { $1 })
    }

    /// Indicates whether the request only prepares the server.
    package var isWarmUp: Bool { self.members["generate"].map { $0.elementsEqual("false".utf8) } ?? false }

    /// A lower bound of the request's byte count, close to it.
    package var approximateByteCount: Int { self.members.members.reduce(0) { $0 + $1.name.utf8.count + $1.json.count } }

    /// Returns whether a member is present and not `null`.
    func hasValue(_ name: String) -> Bool { self.members[name].map { !$0.elementsEqual("null".utf8) } ?? false }

    private func isTrue(_ name: String) -> Bool { self.members[name].map { $0.elementsEqual("true".utf8) } ?? false }

    private mutating func apply(_ overrides: Overrides) throws(ResponseRequestBodyError) {
        if let model = overrides.model { self.members["model"] = JSONText.string(model)[...] }
        if let instructions = overrides.instructions {
            self.members["instructions"] = JSONText.string(instructions)[...]
        }
        if let effort = overrides.reasoningEffort {
            self.members.set("effort", in: "reasoning", to: JSONText.string(effort))
        }
        if let tier = overrides.serviceTier { self.members["service_tier"] = JSONText.string(tier)[...] }
        if let input = overrides.input { self.members["input"] = try input.json()[...] }
        if let hasWebSearch = overrides.hasWebSearch { self.setWebSearch(hasWebSearch) }
    }

    /// Adds the server's search tool if there is none, or removes every version of it.
    private mutating func setWebSearch(_ isWanted: Bool) {
        let tools = self.members["tools"].flatMap { JSONArrayText($0) }?.elements ?? []
        let others = tools.filter { $0.type?.hasPrefix("web_search") != true }
        if isWanted, others.count == tools.count {
            self.members["tools"] = JSONArrayText.json(tools.map(\.json) + [Self.webSearchTool])[...]
        } else if !isWanted, others.count < tools.count {
            self.members["tools"] = JSONArrayText.json(others.map(\.json))[...]
        }
    }

    private static let webSearchTool = Array(#"{"type":"web_search"}"#.utf8)[...]
}

extension ResponseRequestBody {
    /// The members to replace; nil keeps the caller's own.
    package struct Overrides: Equatable, Sendable {
        /// The model that answers.
        package var model: String?
        /// The instructions that precede the input.
        package var instructions: String?
        /// The effort of the model's reasoning: `reasoning.effort`.
        package var reasoningEffort: String?
        /// The service tier, which determines speed and price.
        package var serviceTier: String?
        /// The input of the model.
        package var input: Input?
        /// Indicates whether the server's search tool is among the tools.
        package var hasWebSearch: Bool?

        /// Creates overrides; the default replaces no member.
        package init(
            model: String? = nil, instructions: String? = nil, reasoningEffort: String? = nil,
            serviceTier: String? = nil, input: Input? = nil, hasWebSearch: Bool? = nil
        ) {
            self.model = model
            self.instructions = instructions
            self.reasoningEffort = reasoningEffort
            self.serviceTier = serviceTier
            self.input = input
            self.hasWebSearch = hasWebSearch
        }
    }

    /// The input of the model.
    package enum Input: Equatable, Sendable {
        /// One message of the user.
        case text(String)
        /// Messages in order.
        case messages([Message])
        /// A JSON array of items.
        case json([UInt8])

        fileprivate func json() throws(ResponseRequestBodyError) -> [UInt8] {
            switch self {
            case .text(let text): return JSONArrayText.json([Message(role: "user", text: text).json[...]])
            case .messages(let messages): return JSONArrayText.json(messages.map { $0.json[...] })
            case .json(let json):
                guard JSONArrayText(json) != nil else { throw .invalidInput }
                return json
            }
        }
    }

    /// One message of plain text.
    package struct Message: Equatable, Sendable {
        /// `user`, `assistant`, `system` or `developer`.
        package var role: String
        /// The text of the message.
        package var text: String

        /// The message as an input item.
        ///
        /// A message of the model itself is sent back as output.
        fileprivate var json: [UInt8] {
            let part = self.role == "assistant" ? "output_text" : "input_text"
            var output = Array(#"{"type":"message","role":"#.utf8)
            JSONText.append(self.role, to: &output)
            output += #","content":[{"type":""#.utf8
            output += part.utf8
            output += #"","text":"#.utf8
            JSONText.append(self.text, to: &output)
            output += "}]}".utf8
            return output
        }
    }

    /// The options of one transmission over a WebSocket.
    package struct WebSocketOptions: Equatable, Sendable {
        /// The continuation of the previous response on the same connection.
        package var continuation: Continuation?
        /// The routing state of this turn, as the server issued it.
        package var turnState: String?
        /// The lane on a connection that carries several responses.
        package var streamID: String?
        /// Indicates whether the model's state is prepared and no output is generated.
        package var isWarmUp: Bool
        /// The members of `client_metadata` that replace the caller's own; over HTTP they would be fields of each
        /// request.
        package var metadata: [String: String]

        /// Creates options; the default sends the whole request.
        package init(
            continuation: Continuation? = nil, turnState: String? = nil, streamID: String? = nil,
            isWarmUp: Bool = false,
            metadata: [String: String] = [:]
        ) {
            self.continuation = continuation
            self.turnState = turnState
            self.streamID = streamID
            self.isWarmUp = isWarmUp
            self.metadata = metadata
        }
    }

    /// The new part of a request since the previous response.
    package struct Continuation: Equatable, Sendable {
        /// The identifier of the previous response.
        package var previousResponseID: String
        /// A JSON array of the items that follow it.
        package var inputJSON: [UInt8]
    }
}

extension JSONObjectText {
    /// Indicates whether `input` is a text or an array, as far as its first byte shows, or is `null` or absent.
    package var hasAcceptableInput: Bool {
        guard let first = self["input"]?.first else { return true }
        return [UInt8(ascii: "\""), UInt8(ascii: "["), UInt8(ascii: "n")].contains(first)
    }
}
