// The requests on a WebSocket: for responses, and input for those that run.
//
// Owned by the connection thread.

extension WebSocketExchange {
    /// Queues, handles or refuses a message that has arrived.
    mutating func receivedText(_ bytes: [UInt8], on connection: WebSocketConnection) throws(ConnectionEnd) {
        guard let body = JSONValue(bytes), body.isObject else {
            return try self.refuse(.init(message: "The message is not a JSON object."), lane: nil, on: connection)
        }
        if body["type"]?.string == "response.steer" { return try self.steer(body, on: connection) }
        let lane = WebSocketSession.laneName(body["stream_id"])
        if self.isExpired { return }
        if self.isTooOld {
            self.isExpired = true
            self.queue.removeWaiting()
            let refusal = WebSocketSession.Refusal(
                code: "websocket_connection_limit_reached", message: "The connection limit (60 minutes) is reached.")
            return try self.refuse(refusal, lane: lane, on: connection)
        }
        // With every request, the token of the open socket is checked again.
        guard self.exchange.parts.isGuardSatisfied(by: self.exchange.request) else {
            self.session.fail(previousID: body["previous_response_id"]?.string, lane: lane)
            let refusal = WebSocketSession.Refusal(
                status: 401, code: "token_expired", message: "The token has expired.")
            return try self.refuse(refusal, lane: lane, on: connection)
        }
        if let refusal = self.session.refusal(for: body, isOnChatGPTPath: self.exchange.isOnChatGPTPath) {
            self.session.fail(previousID: body["previous_response_id"]?.string, lane: lane)
            return try self.refuse(refusal, lane: lane, on: connection)
        }
        self.queue.append(.init(body: body, bytes: bytes), lane: lane ?? "")
    }

    private func refuse(
        _ refusal: WebSocketSession.Refusal, lane: String?, on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        let text = ErrorBody.frame(
            status: refusal.status, code: refusal.code, message: refusal.message, param: refusal.param)
        try self.send(ScriptEvent(type: "error", text: text, isNumbered: false), lane: lane, on: connection)
        try self.writer.flush()
    }

    // MARK: Responses

    /// Begins the responses that may run.
    mutating func startResponses(on connection: WebSocketConnection) throws(ConnectionEnd) {
        while let entry = self.queue.start() {
            let body = entry.request.body
            let lane = body["stream_id"]?.string
            if let refusal = self.session.continuationRefusal(for: body) {
                self.session.fail(previousID: body["previous_response_id"]?.string, lane: lane)
                try self.refuse(refusal, lane: lane, on: connection)
            } else if body["generate"] == .bool(false) {
                try self.warmUp(entry.request, lane: lane, on: connection)
            } else {
                let conversation = self.session.conversation(for: body)
                let joined = self.session.takingPending(body)
                self.begin(
                    joined == body ? entry.request : Request(body: joined, bytes: Array(joined.text.utf8)),
                    after: conversation)
                continue
            }
            self.queue.finish(lane: entry.lane)
        }
    }

    private mutating func warmUp(
        _ request: Request, lane: String?, on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        let conversation = self.session.conversation(for: request.body)
        let demand = self.exchange.demand(
            body: request.body, bytes: request.bytes, response: 0, conversation: conversation)
        let script = self.exchange.parts.source.warmUp(for: demand)
        for event in script.events { try self.send(event, lane: lane, on: connection) }
        self.session.complete(script, after: conversation, lane: lane)
        try self.writer.flush()
    }

    private mutating func begin(_ request: Request, after conversation: Conversation) {
        self.running.append(self.response(to: request, after: conversation, steeringText: nil))
    }

    private mutating func response(
        to request: Request, after conversation: Conversation, steeringText: String?
    ) -> RunningResponse {
        self.responseCount += 1
        var demand = self.exchange.demand(
            body: request.body, bytes: request.bytes, response: self.responseCount, conversation: conversation)
        if let steeringText { demand.textChanges.append(.prefix(steeringText + "\n\n")) }
        var response = self.exchange.parts.source.response(to: demand)
        if self.sendsLimits {
            let isKnown = request.body["client_metadata"]?["x-codex-turn-state"]?.string != nil
            let state = "ts-\(self.exchange.attempt)-\(self.responseCount)"
            let model = response.script.identity.model
            response.script.prepend(UsageLimits.events(turnState: isKnown ? nil : state, model: model))
        }
        let steps = ResponseSteps.make(
            response.script, actions: self.exchange.faults.actions(response: self.responseCount),
            transport: .webSocket, earlierID: self.session.lastID(lane: request.body["stream_id"]?.string))
        return RunningResponse(
            response, to: request.body, after: conversation, steps: steps,
            eventsPerSecond: self.configuration.eventsPerSecond)
    }

    private var sendsLimits: Bool {
        switch self.configuration.limitEvents {
        case .never: false
        case .onChatGPTPath: self.exchange.isOnChatGPTPath
        case .always: true
        }
    }

    // MARK: Steering

    /// Adds a client's input to a running response.
    private mutating func steer(_ message: JSONValue, on connection: WebSocketConnection) throws(ConnectionEnd) {
        self.steeringCount += 1
        let steering = RunningResponse.Steering(id: "steer_\(self.steeringCount)", message: message)
        let id = message["previous_response_id"]?.string
        let index = self.running.firstIndex { $0.id == id }
        if let failure = self.failure(of: steering, id: id, index: index) {
            let lane = index.flatMap { self.running[$0].lane }
            // A refusal at once names no identifier.
            let object = Self.object(steering, isNamed: false, hasInput: true)
            return try self.refuse(object, failure, lane, on: connection)
        }
        guard let index else { return }
        let text = ResponseScript.text(
            "response.steer.accepted", "\"steer\":\(Self.object(steering))",
            sequenceNumber: self.running[index].takeNumber())
        try self.send(
            .init(type: "response.steer.accepted", text: text), lane: self.running[index].lane, on: connection)
        try self.writer.flush()
        if self.running[index].response.script.callIDs.isEmpty, self.configuration.steeringOutcome == .endsResponse {
            self.running[index].steer(steering)
        } else {
            self.running[index].keep(steering)
        }
    }

    /// Refuses added input, which the object has.
    private func refuse(
        _ object: String, _ failure: (code: String, message: String), _ lane: String?,
        on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        let text =
            "{\"type\":\"response.steer.failed\",\"steer\":\(object),"
            + "\"error\":{\"type\":\"invalid_request_error\",\"code\":\"\(failure.code)\","
            + "\"message\":\(JSONValue.quoted(failure.message))}}"
        try self.send(
            .init(type: "response.steer.failed", text: text, isNumbered: false), lane: lane, on: connection)
        try self.writer.flush()
    }

    /// Begins the successor of a complete response whose input waits for it; returns false when there is none.
    mutating func beginSuccessor(of response: RunningResponse, at index: Int) -> Bool {
        guard response.isComplete, !response.pendingSteering.isEmpty, response.response.script.callIDs.isEmpty,
            self.configuration.steeringOutcome == .followsCompletion
        else { return false }
        let inputs = response.pendingSteering.map { $0.message["input"] ?? .null }
        let input = inputs.count == 1 ? inputs[0] : .array(inputs.flatMap { WebSocketSession.items(of: $0) })
        self.running.insert(self.successor(of: response, with: input), at: index)
        return true
    }

    /// Reports the end of input that a response has not used: it is returned, or waits for the request that brings the
    /// outputs of the response's calls.
    mutating func settleSteering(of response: RunningResponse, on connection: WebSocketConnection) throws(ConnectionEnd)
    {
        let required = response.response.script.callIDs.map {
            "{\"type\":\"function_call_output\",\"call_id\":\(JSONValue.quoted($0))}"
        }
        for steering in response.pendingSteering {
            guard response.isComplete else {
                try self.refuse(
                    Self.object(steering, hasInput: true),
                    ("response_not_active", "The response has failed."), response.lane, on: connection)
                continue
            }
            guard !required.isEmpty else {
                guard self.configuration.steeringOutcome == .isReturned else { continue }
                try self.refuse(
                    Self.object(steering, hasInput: true),
                    ("successor_creation_failed", "No successor could be created."), response.lane, on: connection)
                continue
            }
            let text =
                "{\"type\":\"response.steer.pending\",\"steer\":\(Self.object(steering)),"
                + "\"reason\":\"waiting_for_required_input\",\"required_input\":[\(required.joined(separator: ","))]}"
            try self.send(
                .init(type: "response.steer.pending", text: text, isNumbered: false), lane: response.lane,
                on: connection)
            self.session.keep(steering.message["input"], for: response.id)
        }
        try self.writer.flush()
    }

    private func failure(
        of steering: RunningResponse.Steering, id: String?, index: Int?
    ) -> (code: String, message: String)? {
        guard self.configuration.supportsSteering else {
            return ("steering_not_supported", "The model does not support steering.")
        }
        guard let index else {
            return self.session.isOver(id ?? "")
                ? ("response_already_completed", "The response has completed.")
                : ("response_not_found", "The response was not found.")
        }
        if self.running[index].terminalEnd != Int.max {
            return ("response_already_completed", "The response has completed.")
        }
        if self.running[index].steering != nil { return ("too_many_pending_steers", "Input is pending already.") }
        guard steering.hasValidInput else {
            return ("invalid_input", "The input is not a text or messages of the user.")
        }
        return nil
    }

    private static func object(
        _ steering: RunningResponse.Steering, isNamed: Bool = true, hasInput: Bool = false
    ) -> String {
        let name = isNamed ? "\"id\":\"\(steering.id)\"," : ""
        let id = steering.message["previous_response_id"] ?? .null
        let input = hasInput ? ",\"input\":\((steering.message["input"] ?? .null).text)" : ""
        return "{\(name)\"previous_response_id\":\(id.text)\(input)}"
    }

    /// Ends a response that was steered, and begins its successor on the same lane.
    mutating func redirect(_ index: Int, on connection: WebSocketConnection) throws(ConnectionEnd) {
        guard let steering = self.running[index].steering else { return }
        let identity = self.running[index].response.script.identity
        let object = identity.object(status: "incomplete", incompleteDetails: "{\"reason\":\"steered\"}")
        let text = ResponseScript.text(
            "response.incomplete", "\"response\":\(object)", sequenceNumber: self.running[index].takeNumber())
        try self.writer.append(self.delivery(of: self.running[index])) { () throws(ConnectionEnd) in
            try self.send(
                .init(type: "response.incomplete", text: text), lane: self.running[index].lane, on: connection)
        }
        self.running[index].terminalEnd = self.writer.position
        try self.writer.flush()
        self.noteDelivery(of: self.running[index])
        self.running[index] = self.successor(of: self.running[index], with: steering.message["input"] ?? .null)
    }

    /// Returns the response that continues one with added input.
    private mutating func successor(of steered: RunningResponse, with input: JSONValue) -> RunningResponse {
        var conversation = steered.conversation
        conversation.append(input: input)
        let body = steered.body.replacing("previous_response_id", with: .string(steered.id))
            .replacing("input", with: input)
        return self.response(
            to: Request(body: body, bytes: Array(body.text.utf8)), after: conversation,
            steeringText: Self.text(of: input))
    }

    /// Returns the text of a user's input.
    private static func text(of input: JSONValue?) -> String {
        if let text = input?.string { return text }
        return (input?.elements ?? []).map { item in
            item["content"]?.string ?? (item["content"]?.elements ?? []).compactMap { $0["text"]?.string }.joined()
        }.joined(separator: "\n")
    }
}
