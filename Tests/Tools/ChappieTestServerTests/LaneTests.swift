// Several responses on one WebSocket: their lanes, their order, forks, and input for one that runs.
import Testing

@testable import ChappieTestServer

@Suite struct LaneTests {
    private func connected<Result>(
        eventsPerSecond: Double? = nil, textByteCount: Int = 60,
        _ configure: (inout ChappieTestServer.Configuration) -> Void = { _ in },
        _ body: (ChappieTestServer, RawClient) throws -> Result
    ) throws -> Result {
        try withServer({
            $0.eventsPerSecond = eventsPerSecond
            $0.model = .scripted(.init(seed: 5, textByteCount: textByteCount))
            configure(&$0)
        }) { server in
            let client = try RawClient(port: server.port)
            try client.upgrade()
            #expect(try client.readHead().status == 101)
            return try body(server, client)
        }
    }

    private func request(lane: String?, previousID: String? = nil, input: String = "Hello.") -> String {
        var members = [#""type":"response.create","model":"m""#, #""input":\#(JSONValue.quoted(input))"#]
        if let lane { members.append(#""stream_id":"\#(lane)""#) }
        if let previousID { members.append(#""previous_response_id":"\#(previousID)""#) }
        return "{" + members.joined(separator: ",") + "}"
    }

    /// Reads until the given number of responses have ended.
    private func events(_ client: RawClient, responses: Int) throws -> [JSONValue] {
        var events: [JSONValue] = []
        for _ in 1...responses { events += try client.readEvents() }
        return events
    }

    private let whole = ChappieTestServer.ScriptedModel(seed: 5, textByteCount: 60).fullText

    @Test func sixteenResponsesComeAtOnceAndTheSeventeenthWaits() throws {
        try self.connected(eventsPerSecond: 200) { server, client in
            let lanes = (1...17).map { "lane-\($0)" }
            // All at once: the server takes them while the first response runs, however busy the machine is.
            try client.sendTexts(lanes.map { self.request(lane: $0) })
            let events = try self.events(client, responses: 17)
            for lane in lanes {
                let own = events.filter { $0["stream_id"]?.string == lane }
                #expect(text(of: own) == self.whole)
                #expect(own.compactMap { $0["sequence_number"] } == own.indices.map { .number("\($0)") })
            }
            let firstEnd = try #require(events.firstIndex { $0["type"]?.string == "response.completed" })
            let begun = Set(events[..<firstEnd].compactMap { $0["stream_id"]?.string })
            #expect(begun == Set(lanes.dropLast()))
            #expect(server.waitBlocking(for: .completedResponses(17)))
            #expect(server.log.map(\.completedResponseCount) == [17])
        }
    }

    @Test func aLaneAnswersInOrderWhileOthersRun() throws {
        try self.connected(eventsPerSecond: 200) { _, client in
            let lanes: [String?] = ["a", "a", nil, nil, "b"]
            try client.sendTexts(lanes.map { self.request(lane: $0) })
            let events = try self.events(client, responses: 5)
            for (lane, count) in [("a", 2), (nil, 2), ("b", 1)] {
                let types = events.filter { $0["stream_id"]?.string == lane }.compactMap { $0["type"]?.string }
                let frame = types.filter { ["response.created", "response.completed"].contains($0) }
                #expect(frame == (1...count).flatMap { _ in ["response.created", "response.completed"] })
                #expect(types.last == "response.completed")
            }
            let firstEnd = try #require(events.firstIndex { $0["type"]?.string == "response.completed" })
            #expect(Set(events[..<firstEnd].map { $0["stream_id"]?.string }) == ["a", "b", nil])
        }
    }

    @Test(arguments: ["a", nil]) func requestThatWaitsForItsLaneNeedsNoFurtherMessage(lane: String?) throws {
        try self.connected { server, client in
            for _ in 1...3 { try client.sendText(self.request(lane: lane)) }
            let events = try self.events(client, responses: 3)
            #expect(events.filter { $0["type"]?.string == "response.completed" }.count == 3)
            #expect(events.allSatisfy { $0["stream_id"]?.string == lane })
            #expect(server.waitBlocking(for: .completedResponses(3)))
            #expect(server.log.map(\.completedResponseCount) == [3])
        }
    }

    @Test func queueStartsSixteenLanesInOrderAndOneRequestPerLane() {
        var queue = LaneQueue<Int>()
        for (index, lane) in (["a", "a", ""] + (1...15).map { "l\($0)" } + [""]).enumerated() {
            queue.append(index, lane: lane)
        }
        var started: [Int] = []
        while let entry = queue.start() { started.append(entry.request) }
        // The second on its lane waits, and so does what is past sixteen.
        #expect(started == [0] + Array(2...16))
        queue.finish(lane: "l1")
        #expect(queue.start()?.request == 17)
        #expect(queue.start() == nil)
        queue.finish(lane: "a")
        #expect(queue.start()?.request == 1)
        queue.finish(lane: "")
        queue.removeWaiting()
        #expect(queue.start() == nil)
    }

    @Test func aResponseIsContinuedOnAnotherLane() throws {
        try self.connected { _, client in
            try client.sendText(self.request(lane: "a"))
            let first = try #require(client.readEvents().last?["response"]?["id"]?.string)
            try client.sendText(self.request(lane: "b", previousID: first))
            let fork = try #require(client.readEvents().last)
            #expect(fork["response"]?["previous_response_id"]?.string == first)
            #expect(fork["stream_id"]?.string == "b")
            // Both lanes go on from there; a lane's older response is gone.
            try client.sendText(self.request(lane: "a", previousID: first))
            #expect(try client.readEvents().last?["type"]?.string == "response.completed")
            try client.sendText(self.request(lane: "c", previousID: first))
            let error = try #require(client.readEvents().last)
            #expect(error["error"]?["code"]?.string == "previous_response_not_found")
            #expect(error["stream_id"]?.string == "c")
        }
    }

    @Test(arguments: [("a", "previous_response_not_found"), ("b", nil)])
    func failedContinuationRemovesItsParentOnItsOwnLaneOnly(_ lane: String, _ code: String?) throws {
        let fault = ChappieTestServer.Fault(.fail(code: "server_error", afterEvent: 3), response: 2)
        try self.connected({ $0.faults = [fault] }) { _, client in
            try client.sendText(self.request(lane: "a"))
            let first = try #require(client.readEvents().last?["response"]?["id"]?.string)
            try client.sendText(self.request(lane: lane, previousID: first))
            #expect(try client.readEvents().last?["type"]?.string == "response.failed")
            try client.sendText(self.request(lane: "a", previousID: first))
            #expect(try client.readEvents().last?["error"]?["code"]?.string == code)
        }
    }

    // MARK: Steering

    @Test func steeringEndsAResponseAndBeginsTheNextOnItsLane() throws {
        // The first response waits for the input, however late that arrives.
        let pause = ChappieTestServer.Fault(.pause(afterEvent: 12, seconds: 600), response: 1)
        try self.connected(eventsPerSecond: 200, textByteCount: 1500, { $0.faults = [pause] }) { server, client in
            try client.sendText(self.request(lane: "a"))
            try client.sendText(self.request(lane: "b"))
            var seen: [JSONValue] = []
            while !seen.contains(where: {
                $0["type"]?.string?.hasSuffix("delta") == true && $0["stream_id"]?.string == "a"
            }) {
                seen.append(try client.readEvent())
            }
            let created = try #require(seen.first { $0["stream_id"]?.string == "a" })
            let id = try #require(created["response"]?["id"]?.string)
            try client.sendText(#"{"type":"response.steer","previous_response_id":"\#(id)","input":"In °F, too."}"#)
            let own = { (event: JSONValue) in event["stream_id"]?.string == "a" }
            // The other response may have ended before.
            var event: JSONValue
            repeat {
                event = try client.readEvent()
                seen.append(event)
            } while !(own(event) && isTerminal(event))
            let types = seen.filter(own).compactMap { $0["type"]?.string }
            #expect(types.suffix(2) == ["response.steer.accepted", "response.incomplete"])
            let numbers = seen.filter(own).compactMap { $0["sequence_number"] }
            #expect(numbers == numbers.indices.map { .number("\($0)") })
            let end = try #require(seen.last(where: own)?["response"])
            #expect(end["id"]?.string == id)
            #expect(end["incomplete_details"]?["reason"]?.string == "steered")
            let endedCount = seen.count { isTerminal($0) }
            let rest = try self.events(client, responses: 3 - endedCount)
            let successor = rest.filter(own)
            #expect(successor.first?["response"]?["previous_response_id"]?.string == id)
            let long = ChappieTestServer.ScriptedModel(seed: 5, textByteCount: 1500).fullText
            #expect(text(of: successor) == "In °F, too.\n\n" + long)
            #expect(text(of: (seen + rest).filter { $0["stream_id"]?.string == "b" }) == long)
            #expect(server.waitBlocking(for: .completedResponses(3)))
            // The lane goes on from the second one.
            let last = try #require(successor.last?["response"]?["id"]?.string)
            try client.sendText(self.request(lane: "a", previousID: last))
            #expect(try client.readEvent()["response"]?["previous_response_id"]?.string == last)
        }
    }

    @Test func inputWaitsForTheOutputsOfCalls() throws {
        let call = #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#
        try self.connected({
            $0.model = .custom { request in
                let id = "r\(request.response)"
                let input = JSONValue(Array(request.bodyText.utf8))?["input"]?.elements ?? []
                let types = input.compactMap { $0["type"]?.string }.joined(separator: " ")
                let words = input.first?["content"]?.string ?? ""
                return [
                    #"{"type":"response.created","response":{"id":"\#(id)"}}"#,
                    request.response == 1
                        ? #"{"type":"response.output_item.done","output_index":0,"item":\#(call)}"#
                        : #"{"type":"response.output_text.delta","output_index":0,"delta":"\#(types): \#(words)"}"#,
                    #"{"type":"response.completed","response":{"id":"\#(id)","status":"completed"}}"#,
                ]
            }
            $0.faults = [.init(.pause(afterEvent: 1, seconds: 600), response: 1)]
        }) { _, client in
            try client.sendText(self.request(lane: "a"))
            #expect(try client.readEvent()["type"]?.string == "response.created")
            try client.sendText(#"{"type":"response.steer","previous_response_id":"r1","input":"And so on."}"#)
            var seen = try client.readEvents()
            seen.append(try client.readEvent())
            let types = seen.compactMap { $0["type"]?.string }
            #expect(
                types == [
                    "response.steer.accepted", "response.output_item.done", "response.completed",
                    "response.steer.pending",
                ])
            #expect(seen.last?["stream_id"]?.string == "a")
            #expect(seen.last?["reason"]?.string == "waiting_for_required_input")
            #expect(seen.last?["required_input"]?.elements.map { $0["call_id"]?.string } == ["c"])
            let output = #"[{"type":"function_call_output","call_id":"c","output":""}]"#
            try client.sendText(
                self.request(lane: "a", previousID: "r1").replacing(#""Hello.""#, with: output))
            #expect(text(of: try client.readEvents()) == "message function_call_output: And so on.")
        }
    }

    @Test func impossibleSteeringIsRefusedWithAnErrorCode() throws {
        try self.connected(eventsPerSecond: 20, textByteCount: 4000) { _, client in
            let steer = { (id: String, input: String) in
                try client.sendText(#"{"type":"response.steer","previous_response_id":"\#(id)"\#(input)}"#)
                var event: JSONValue
                repeat {
                    event = try client.readEvent()
                } while event["type"]?.string?.hasPrefix("response.steer") != true
                return event["error"]?["code"]?.string
            }
            try client.sendText(self.request(lane: nil).replacing("}", with: #","generate":false}"#))
            let warmUp = try #require(client.readEvents().last?["response"]?["id"]?.string)
            #expect(try steer(warmUp, #","input":"x""#) == "response_already_completed")
            #expect(try steer("resp_x", #","input":"x""#) == "response_not_found")
            try client.sendText(self.request(lane: nil))
            let id = try #require(client.readEvent()["response"]?["id"]?.string)
            for input in [
                "", #","input":7"#, #","input":[]"#, #","input":[{"role":"system","content":"x"}]"#,
                #","input":[{"role":"user","content":[]}]"#, #","input":[{"role":"user","content":"x","id":"m"}]"#,
                #","input":[{"role":"user","content":[{"type":"output_text","text":"x"}]}]"#,
                #","input":[{"type":"function_call_output","call_id":"c","output":"x"}]"#,
            ] {
                #expect(try steer(id, input) == "invalid_input")
            }
        }
        try self.connected({ $0.supportsSteering = false }) { _, client in
            try client.sendText(#"{"type":"response.steer","previous_response_id":"resp_x","input":"x"}"#)
            let event = try client.readEvent()
            #expect(event["type"]?.string == "response.steer.failed")
            #expect(event["error"]?["code"]?.string == "steering_not_supported")
            #expect(event["steer"]?["input"]?.string == "x")
            // A refusal at once has no identifier.
            #expect(event["steer"]?["id"] == nil)
        }
    }

    /// The events behind the acceptance of input, by the outcome.
    @Test(arguments: ChappieTestServer.SteeringOutcome.allCases)
    func completeResponseIsFollowedByWhatTheOutcomeSays(outcome: ChappieTestServer.SteeringOutcome) throws {
        let pause = ChappieTestServer.Fault(.pause(afterEvent: 2, seconds: 600), response: 1)
        try self.connected(
            textByteCount: 20,
            {
                $0.faults = [pause]
                $0.steeringOutcome = outcome
            }
        ) { _, client in
            try client.sendText(self.request(lane: "a"))
            let id = try #require(client.readEvent()["response"]?["id"]?.string)
            try client.sendText(#"{"type":"response.steer","previous_response_id":"\#(id)","input":"In °F, too."}"#)
            var seen = try client.readEvents()
            let accepted = try #require(seen.first { $0["type"]?.string == "response.steer.accepted" })
            #expect(accepted["steer"]?["previous_response_id"]?.string == id)
            let end = seen.last?["type"]?.string
            #expect(end == (outcome == .endsResponse ? "response.incomplete" : "response.completed"))
            switch outcome {
            case .endsResponse, .followsCompletion:
                let successor = try client.readEvents()
                #expect(successor.first?["response"]?["previous_response_id"]?.string == id)
                #expect(text(of: successor).hasPrefix("In °F, too.\n\n"))
                #expect(successor.allSatisfy { $0["stream_id"]?.string == "a" })
            case .isReturned:
                seen.append(try client.readEvent())
                #expect(seen.last?["type"]?.string == "response.steer.failed")
                #expect(seen.last?["steer"]?["id"]?.string == accepted["steer"]?["id"]?.string)
                #expect(seen.last?["steer"]?["input"]?.string == "In °F, too.")
                #expect(seen.last?["error"]?["code"]?.string == "successor_creation_failed")
                #expect(seen.last?["stream_id"]?.string == "a")
            case .isForgotten: break
            }
            // The lane is free.
            try client.sendText(self.request(lane: "a"))
            #expect(try client.readEvent()["type"]?.string == "response.created")
        }
    }

    // MARK: Turn state

    @Test func turnStateIsSentOnceAndItsEchoIsLogged() throws {
        try self.connected({ $0.limitEvents = .always }) { server, client in
            try client.sendText(self.request(lane: nil))
            let metadata = try #require(client.readEvents().first { $0["type"]?.string == "response.metadata" })
            let state = try #require(metadata["headers"]?["x-codex-turn-state"]?.string)
            let echo = #","client_metadata":{"x-codex-turn-state":"\#(state)"}}"#
            try client.sendText(self.request(lane: nil).replacing("}", with: echo))
            let second = try #require(client.readEvents().first { $0["type"]?.string == "response.metadata" })
            #expect(second["headers"]?["x-codex-turn-state"] == nil)
            #expect(server.log.first?.turnStates == [nil, state])
            let post = try RawClient(port: server.port)
            try post.post(plainRequest, fields: ["x-codex-turn-state: ts-http-9", "Connection: close"])
            _ = post.readToEnd()
            #expect(server.log.last?.turnStates == ["ts-http-9"])
        }
    }
}
