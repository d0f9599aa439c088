import ChappieTestServer
import ChappieTransport
import Foundation
import StreamTransport
import Testing

/// Several responses on one WebSocket, each on its lane.
@Suite(.timeLimit(.minutes(10))) struct LaneTests {
    // MARK: The server

    /// Returns the words of a lane: every word names the lane, so that a misplaced one is noticed.
    private static func words(_ lane: String) -> [String] { (1...60).map { "\(lane)/\($0) " } }

    private static func text(_ lane: String) -> String { Self.words(lane).joined() }

    /// A model whose answer depends on the lane of the request alone.
    private static func events(for request: ChappieTestServer.ResponseRequest) -> [String] {
        let lane = Self.member("stream_id", of: request.bodyText) ?? "none"
        let response = { (status: String) in
            #""response":{"id":"resp_\#(request.response)","object":"response","status":"\#(status)","model":"m","output":[]}"#
        }
        let item = #""output_index":0,"item":{"id":"msg_\#(request.response)","type":"message","role":"assistant""#
        var events = [
            #"{"type":"response.created",\#(response("in_progress"))}"#,
            #"{"type":"response.output_item.added",\#(item),"content":[]}}"#,
        ]
        events += Self.words(lane).map {
            #"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\#($0)"}"#
        }
        let content = #","content":[{"type":"output_text","text":"\#(Self.text(lane))"}]}"#
        events += [
            #"{"type":"response.output_item.done",\#(item)\#(content)}"#,
            #"{"type":"response.completed",\#(response("completed"))}"#,
        ]
        return events
    }

    private static func member(_ name: String, of body: String) -> String? {
        let object = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        return object?[name] as? String
    }

    private static func server(
        eventsPerSecond: Double? = 200, faults: [ChappieTestServer.Fault] = [], log: LockedValue<[String]>? = nil
    ) -> ChappieTestServer.Configuration {
        var configuration = ChappieTestServer.Configuration(model: .custom(Self.events), faults: faults)
        configuration.eventsPerSecond = eventsPerSecond
        if let log {
            configuration.logLine = { line in
                if let event = Self.member("event", of: line) { log.withLock { $0.append(event) } }
            }
        }
        return configuration
    }

    /// A fault that lets a response of the first socket pause in its text, so that others can begin meanwhile.
    private static func pause(ofResponse response: Int, seconds: Double) -> ChappieTestServer.Fault {
        .init(.pause(afterEvent: 5, seconds: seconds), attempts: 1...1, response: response)
    }

    // MARK: The client

    private static func client(
        _ server: ChappieTestServer, _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> ChappieStreamingTransport {
        ChappieStreamingTransport(
            configuration: .loopback(server.baseURL) {
                $0.usesLanes = true
                change(&$0)
            })
    }

    private static func request(_ lane: String) -> ChappieTransportRequest {
        let input = #"[{"type":"message","role":"user","content":"Go on."}]"#
        var request = ChappieTransportRequest(
            body: Array(#"{"model":"m","store":false,"stream_id":"\#(lane)","input":\#(input)}"#.utf8))
        request.lane = lane
        return request
    }

    /// Runs a turn on each lane, all at once.
    private static func outcomes(
        _ transport: ChappieStreamingTransport, lanes: [String]
    ) async -> [(lane: String, outcome: StreamOutcome)] {
        await withTaskGroup(of: (String, StreamOutcome).self) { group in
            for lane in lanes { group.addTask { (lane, await transport.outcome(of: Self.request(lane))) } }
            return await group.reduce(into: []) { $0.append(($1.0, $1.1)) }
        }
    }

    // MARK: Order

    @Test(arguments: Wire.allCases)
    func sixteenLanesDoNotMix(over wire: Wire) async throws {
        try await withServer(Self.server()) { server in
            let transport = Self.client(server) { $0.policy = wire.policy }
            for (lane, outcome) in await Self.outcomes(transport, lanes: (1...16).map { "lane-\($0)" }) {
                // Over HTTP there are no lanes.
                outcome.expectWhole(Self.text(wire == .webSocket ? lane : "none"))
            }
            #expect(server.log.count == (wire == .webSocket ? 1 : 16))
            #expect(await server.reached(.completedResponses(16)))
        }
    }

    /// On every lane, each response is followed by a delta and the end of the one before, in the middle of the next.
    @Test func lateEventsOfALanesEarlierResponseAreDropped() async throws {
        let earlier = LockedValue<[String: Int]>([:])
        var configuration = ChappieTestServer.Configuration(
            model: .custom { request in
                let lane = Self.member("stream_id", of: request.bodyText) ?? ""
                var events = Self.events(for: request)
                if let last = earlier.withLock({ $0.updateValue(request.response, forKey: lane) }) {
                    let place = #""item_id":"msg_\#(last)","output_index":0,"content_index":0"#
                    let late = [
                        #"{"type":"response.output_text.delta",\#(place),"delta":"late"}"#,
                        #"{"type":"response.completed","response":{"id":"resp_\#(last)","output":[]}}"#,
                    ]
                    // Behind the creation, behind the item, and in the middle of the text.
                    for index in [20, 2, 1] { events.insert(contentsOf: late, at: index) }
                }
                return events
            })
        configuration.eventsPerSecond = 2_000
        try await withServer(configuration) { server in
            let transport = Self.client(server)
            for _ in 1...5 {
                for (lane, outcome) in await Self.outcomes(transport, lanes: (1...16).map { "lane-\($0)" }) {
                    outcome.expectWhole(Self.text(lane))
                }
            }
            #expect(server.log.count == 1)
        }
    }

    @Test func theSeventeenthWaitsForOneOfTheOthers() async throws {
        let log = LockedValue<[String]>([])
        // None of the sixteen ends before all have begun.
        let pauses = (1...16).map { Self.pause(ofResponse: $0, seconds: 2) }
        try await withServer(Self.server(faults: pauses, log: log)) { server in
            for (lane, outcome) in await Self.outcomes(Self.client(server), lanes: (1...17).map { "lane-\($0)" }) {
                outcome.expectWhole(Self.text(lane))
            }
            #expect(server.log.count == 1)
        }
        let order = log.withLock { $0 }.filter { ["body", "completed"].contains($0) }
        #expect(Array(order.prefix(17)) == Array(repeating: "body", count: 16) + ["completed"])
        #expect(order.count == 34)
    }

    @Test func turnsOfOneLaneFollowOneAnother() async throws {
        let log = LockedValue<[String]>([])
        try await withServer(Self.server(log: log)) { server in
            let outcomes = await Self.outcomes(Self.client(server), lanes: ["same", "same", "same"])
            for (lane, outcome) in outcomes { outcome.expectWhole(Self.text(lane)) }
            #expect(server.log.count == 1)
        }
        let order = log.withLock { $0 }.filter { ["body", "completed"].contains($0) }
        #expect(order == ["body", "completed", "body", "completed", "body", "completed"])
    }

    @Test func waitingForATurnIsNotTheServersSilence() async throws {
        let pauses = [1, 2].map { Self.pause(ofResponse: $0, seconds: 3.5) }
        try await withServer(Self.server(faults: pauses)) { server in
            // Shorter than the first two responses take, longer than a first event, also on a busy machine.
            let transport = Self.client(server) { $0.timeouts.firstEvent = .seconds(3) }
            for (lane, outcome) in await Self.outcomes(transport, lanes: ["same", "same", "same"]) {
                outcome.expectWhole(Self.text(lane))
                #expect(outcome.report.attempts.count == 1)
            }
        }
    }

    // MARK: Ends

    @Test func aCancelledLaneLeavesTheOthersWhole() async throws {
        // Responses of two and a half seconds: the cancellation is in the middle of all four.
        try await withServer(Self.server(eventsPerSecond: 25)) { server in
            let transport = Self.client(server)
            async let others = Self.outcomes(transport, lanes: ["a", "b", "c"])
            // Without another lane the cancellation would close the socket.
            #expect(await server.reached(.bodies(3)))
            let given = transport.streamHandle(Self.request("given"))
            let reading = Task {
                var events = given.events.makeAsyncIterator()
                while let event = try await events.next() { if case .textDelta = event { given.cancel() } }
            }
            await #expect(throws: CancellationError.self) { try await reading.value }
            for (lane, outcome) in await others { outcome.expectWhole(Self.text(lane)) }
            #expect(server.log.count == 1)
        }
    }

    @Test func cancellingTheOnlyLaneClosesTheSocket() async throws {
        try await withServer(Self.server(faults: [.init(.hang(afterEvent: 10))])) { server in
            let handle = Self.client(server).streamHandle(Self.request("only"))
            var events = handle.events.makeAsyncIterator()
            while let event = try await events.next() { if case .textDelta = event { break } }
            handle.cancel()
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.completedResponseCount) == [0])
            await #expect(throws: CancellationError.self) { while try await events.next() != nil {} }
        }
    }

    @Test func eachLaneRecoversFromACutByItself() async throws {
        let cut = ChappieTestServer.Fault(.cutAfterEvent(event: 30), attempts: 1...1, response: 3)
        // The cut is behind the beginning of all responses, and before the end of each.
        let pauses = (1...8).map { Self.pause(ofResponse: $0, seconds: $0 == 3 ? 2 : 600) }
        try await withServer(Self.server(faults: pauses + [cut])) { server in
            for (lane, outcome) in await Self.outcomes(Self.client(server), lanes: (1...8).map { "lane-\($0)" }) {
                outcome.expectWhole(Self.text(lane))
                #expect(outcome.report.attempts.map(\.transport) == [.webSocket, .webSocket])
            }
            #expect(server.log.map(\.transport) == [.webSocket, .webSocket])
        }
    }

    @Test func aHungLaneRecoversOnAnotherSocketAndTheOthersStay() async throws {
        let hang = ChappieTestServer.Fault(.hang(afterEvent: 5), attempts: 1...1, response: 1)
        try await withServer(Self.server(faults: [hang])) { server in
            // Long enough for a server that waits for a processor.
            let transport = Self.client(server) { $0.timeouts.idle = .seconds(3) }
            for (lane, outcome) in await Self.outcomes(transport, lanes: ["a", "b", "c"]) {
                outcome.expectWhole(Self.text(lane))
            }
            // What was not hung came whole over the first one.
            #expect(await server.reached(.completedResponses(3)))
            #expect(server.log.map(\.completedResponseCount) == [2, 1])
        }
    }

    // MARK: Limits

    @Test(arguments: [1, 4 << 10, 1 << 20])
    func slowReaderSlowsTheOthersWithoutLosingEvents(_ watermark: Int) async throws {
        try await withServer(Self.server(eventsPerSecond: nil)) { server in
            let transport = Self.client(server) {
                $0.limits.highWatermark = watermark
                $0.limits.lowWatermark = watermark / 2
            }
            let slow = transport.streamHandle(Self.request("slow"))
            var events = slow.events.makeAsyncIterator()
            var outcome = StreamOutcome()
            while outcome.text.isEmpty, let event = try await events.next() { outcome.add(event) }
            async let others = Self.outcomes(transport, lanes: ["a", "b", "c"])
            #expect(await server.reached(.bodies(2)))
            while let event = try await events.next() {
                outcome.add(event)
                await Task.yield()
            }
            #expect(outcome.text == Self.text("slow"))
            for (lane, outcome) in await others { outcome.expectWhole(Self.text(lane)) }
            #expect(server.log.count == 1)
        }
    }

    @Test func leavingReaderUnblocksTheOthers() async throws {
        try await withServer(Self.server(eventsPerSecond: nil)) { server in
            let transport = Self.client(server) { ($0.limits.highWatermark, $0.limits.lowWatermark) = (1, 0) }
            let slow = transport.streamHandle(Self.request("slow"))
            var events = slow.events.makeAsyncIterator()
            _ = try await events.next()
            async let others = Self.outcomes(transport, lanes: ["a", "b"])
            #expect(await server.reached(.bodies(2)))
            slow.cancel()
            for (lane, outcome) in await others { outcome.expectWhole(Self.text(lane)) }
        }
    }

    @Test func theThirtyThirdLaneIsTheServersError() async throws {
        try await withServer(Self.server()) { server in
            let outcomes = await Self.outcomes(Self.client(server), lanes: (1...33).map { "lane-\($0)" })
            let failed = outcomes.filter { $0.outcome.error != nil }
            #expect(failed.count == 1)
            guard case .httpError(400, let body)? = failed.first?.outcome.clientError else {
                Issue.record("\(String(describing: failed.first?.outcome.error))")
                return
            }
            #expect(body.contains(#""code":"websocket_stream_limit_reached""#))
            #expect(failed.first?.outcome.report.attempts.count == 1)
            for (lane, outcome) in outcomes where outcome.error == nil { outcome.expectWhole(Self.text(lane)) }
            #expect(server.log.count == 1)
        }
    }

    // MARK: Between turns

    @Test func anotherLaneContinuesAResponse() async throws {
        try await withServer(Self.server(eventsPerSecond: nil)) { server in
            let transport = Self.client(server)
            await transport.outcome(of: Self.request("source")).expectWhole(Self.text("source"))
            var fork = Self.request("fork")
            fork.forkedFrom = "source"
            let content = #"[{"type":"output_text","text":"\#(Self.text("source"))"}]"#
            let input =
                #"[{"type":"message","role":"user","content":"Go on."},{"type":"message","role":"assistant","content":\#(content)},"#
                + #"{"type":"message","role":"user","content":"And then?"}]"#
            fork.body = Array(#"{"model":"m","store":false,"stream_id":"fork","input":\#(input)}"#.utf8)
            await transport.outcome(of: fork).expectWhole(Self.text("fork"))
            await transport.outcome(of: Self.request("source")).expectWhole(Self.text("source"))
            #expect(await server.reached(.completedResponses(3)))
            #expect(server.log.count == 1)
        }
    }

    @Test func anOldSocketTakesNoNewTurns() async throws {
        try await withServer(Self.server(eventsPerSecond: nil)) { server in
            var policy = Wire.webSocket.policy
            policy.maximumConnectionAge = .zero
            let transport = Self.client(server) { [policy] in $0.policy = policy }
            for _ in 1...3 { await transport.outcome(of: Self.request("a")).expectWhole(Self.text("a")) }
            #expect(await server.reached(.completedResponses(3)))
            #expect(server.log.map(\.completedResponseCount) == [1, 1, 1])
        }
    }
}
