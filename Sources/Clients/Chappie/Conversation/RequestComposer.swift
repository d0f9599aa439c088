import ResponseEvents

/// Makes the bodies of a client's requests.
///
/// A pure value. The same conversation gives the same bytes, member by member, so that a server's cache and the
/// engine's rule for incremental input find what was sent before.
struct RequestComposer: Sendable {
    /// The model of requests that name none.
    let model: String
    /// The instructions before the input.
    let instructions: String?
    /// Tools by name and as JSON text, in order.
    let tools: [(name: String, json: [UInt8])]
    /// The capabilities that the server may use.
    let capabilities: Set<ChappieHarnessCapability>
    /// The effort of requests that name none.
    let reasoningEffort: ChappieReasoningEffort?
    /// The service tier of requests that name none.
    let serviceTier: ChappieServiceTier?
    /// The endpoint, with the members that it accepts.
    let endpoint: ChappieEndpoint

    /// Takes the settings of requests from a configuration.
    init(_ configuration: ChappieConfiguration) {
        self.model = configuration.model
        self.instructions = configuration.harness.instructions
        self.tools = configuration.toolDeclarations.map { ($0.name, $0.json) }
        self.capabilities = configuration.harness.capabilities
        self.reasoningEffort = configuration.reasoningEffort
        self.serviceTier = configuration.serviceTier
        self.endpoint = configuration.endpoint
    }

    /// Returns the items that a request appends to the conversation.
    func items(of request: ChappieResponseRequest) -> [[UInt8]] {
        let own = request.bodyJSON.flatMap { try? ResponseRequestBody(json: $0) }?.inputItems ?? []
        return own + request.messages.map(\.json)
    }

    /// Returns the body of a request whose whole input is `items`; `isFirst` says that it begins the turn.
    ///
    /// The input is without what only servers of another dialect read.
    func body(
        of request: ChappieResponseRequest, items: [[UInt8]], conversationID: String, isFirst: Bool = true
    ) -> [UInt8] {
        var object = JSONObjectText()
        if let bodyJSON = request.bodyJSON {
            // The engine reports the fault of an invalid body or input.
            guard let given = try? JSONObjectText(bodyJSON), given.hasAcceptableInput else { return bodyJSON }
            object = given
        }
        object.setText(request.model ?? object.text(of: "model") ?? self.model, for: "model")
        if let text = request.instructions ?? object.text(of: "instructions") ?? self.instructions {
            object.setText(text, for: "instructions")
        }
        object["input"] = JSONArrayText.json(self.endpoint.dialect.forms(of: items).map { $0[...] })[...]
        self.setTools(of: request, in: &object)
        self.setStorage(of: request, in: &object)
        if let effort = request.effort ?? (object["reasoning"] == nil ? self.reasoningEffort : nil) {
            object.set("effort", in: "reasoning", to: JSONText.string(effort.rawValue))
        }
        if let tier = request.serviceTier?.rawValue ?? object.text(of: "service_tier") ?? self.serviceTier?.rawValue {
            object.setText(tier, for: "service_tier")
        }
        if let key = request.promptCacheKey {
            object.setText(key, for: "prompt_cache_key")
        } else if self.endpoint.takesPromptCacheKey, object["prompt_cache_key"] == nil {
            object.setText(conversationID, for: "prompt_cache_key")
        }
        if let limit = request.maxOutputTokens { object.setJSON(String(max(0, limit)), for: "max_output_tokens") }
        if !self.endpoint.takesMaxOutputTokens { object["max_output_tokens"] = nil }
        Self.setOptions(of: request, in: &object)
        // With a choice that demands a call the model could never answer the outputs of its calls.
        if !isFirst, let choice = object["tool_choice"], !ChappieToolChoice.isFree(choice) {
            object["tool_choice"] = ChappieToolChoice.auto.json[...]
        }
        return object.json
    }

    /// Sets the members for which there is no configuration.
    private static func setOptions(of request: ChappieResponseRequest, in object: inout JSONObjectText) {
        if let format = request.textFormat { object.set("format", in: "text", to: format.json) }
        if let choice = request.toolChoice { object["tool_choice"] = choice.json[...] }
        if let temperature = request.temperature {
            object.setJSON(ChappieJSONValue.number(temperature).jsonText, for: "temperature")
        }
        if let share = request.topP { object.setJSON(ChappieJSONValue.number(share).jsonText, for: "top_p") }
        if let metadata = request.metadata {
            object.setJSON(ChappieJSONValue.object(metadata.mapValues { .string($0) }).jsonText, for: "metadata")
        }
        if let id = request.previousResponseID { object.setText(id, for: "previous_response_id") }
        if let truncation = request.truncation { object.setText(truncation.rawValue, for: "truncation") }
    }

    /// Sets the tools: the caller's first, then those of the client whose names the caller does not use.
    private func setTools(of request: ChappieResponseRequest, in object: inout JSONObjectText) {
        let given = object["tools"].flatMap { JSONArrayText($0) }?.elements ?? []
        let names = Set(given.compactMap { try? JSONObjectText(Array($0.json)).text(of: "name") })
        let own = self.tools.filter { !names.contains($0.name) }.map { $0.json[...] }
        var search: [ArraySlice<UInt8>] = []
        var others = given.map(\.json)
        if let access = request.searchAccess {
            others = given.filter { $0.type?.hasPrefix("web_search") != true }.map(\.json)
            search = access.toolJSON.map { [Array($0.utf8)[...]] } ?? []
        } else if self.capabilities.contains(.webSearch),
            !given.contains(where: { $0.type?.hasPrefix("web_search") == true })
        {
            search = ChappieSearchAccess.live.toolJSON.map { [Array($0.utf8)[...]] } ?? []
        }
        let tools = others + own + search
        guard !tools.isEmpty || object["tools"] != nil else { return }
        object["tools"] = JSONArrayText.json(tools)[...]
        if self.capabilities.contains(.parallelToolCalls), object["parallel_tool_calls"] == nil, !tools.isEmpty {
            object.setJSON("true", for: "parallel_tool_calls")
        }
    }

    /// Sets the members about storage and the data of the response, unless the caller's body has them.
    private func setStorage(of request: ChappieResponseRequest, in object: inout JSONObjectText) {
        if let isStored = self.endpoint.storesResponses, object["store"] == nil {
            object.setJSON(isStored ? "true" : "false", for: "store")
        }
        var include = request.include
        if self.endpoint.returnsEncryptedReasoning, include != nil || object["include"] == nil {
            let own = include ?? []
            include = own.contains(.encryptedReasoning) ? own : own + [.encryptedReasoning]
        }
        guard let include else { return }
        object["include"] = JSONArrayText.json(include.map { JSONText.string($0.rawValue)[...] })[...]
    }
}

extension ChappieConfiguration {
    /// The tools that are declared to the model, one for each name: the harness's in order, then the host's.
    ///
    /// A host tool replaces the harness's tool of the same name.
    var toolDeclarations: [ToolDeclaration] {
        var declarations: [ToolDeclaration] = []
        for declaration in self.harness.tools.map(\.declaration) + self.tools.map(\.declaration) {
            if let index = declarations.firstIndex(where: { $0.name == declaration.name }) {
                declarations[index] = declaration
            } else {
                declarations.append(declaration)
            }
        }
        return declarations
    }
}
