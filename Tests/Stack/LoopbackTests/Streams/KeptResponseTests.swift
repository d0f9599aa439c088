import Chappie
import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Responses that the server keeps: their state, and their cancellation.
@Suite(.timeLimit(.minutes(10))) struct KeptResponseTests {
    static let request = ChappieTransportRequest(body: Array(#"{"background":true,"store":true,"input":"hi"}"#.utf8))

    static func configuration(_ change: (inout ChappieTestServer.Configuration) -> Void = { _ in })
        -> ChappieTestServer.Configuration
    {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        change(&configuration)
        return configuration
    }

    @Test func completeResponseIsRetrievedWithItsTextAndItems() async throws {
        try await withServer(Self.configuration()) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let handle = transport.streamHandle(Self.request)
            for try await _ in handle.events {}
            let id = try #require(handle.response?.id)
            let response = try await transport.retrieve(id)
            #expect(response.id == id)
            #expect(response.status == "completed")
            #expect(response.outputText == LoopbackTurn.model.fullText)
            #expect(response.usage == handle.response?.usage)
            #expect(response.model == handle.response?.model)
            #expect(response.outputItems.count == 1)
            // The end of a response is not changed by a cancellation.
            let cancelled = try await transport.cancel(id)
            #expect(cancelled.id == id)
            #expect(cancelled.status == "completed")
            #expect(cancelled.outputText == response.outputText)
            #expect(server.log.map(\.method) == ["POST", "GET", "POST"])
        }
    }

    @Test func cancelledResponseEndsItsStreamWithThatStatus() async throws {
        // The response would take many seconds, and its cancellation takes effect at its next event.
        try await withServer(Self.configuration { $0.eventsPerSecond = 4 }) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL) { $0.rawEvents = .all })
            var end: (any Error)?
            var responses: [ChappieResponse] = []
            do {
                for try await event in transport.stream(Self.request) {
                    guard responses.isEmpty, case .raw(_, let payload) = event,
                        let id = ChappieJSONValue(jsonText: payload)?["response"]?["id"]?.string
                    else { continue }
                    responses.append(try await transport.retrieve(id))
                    responses.append(try await transport.cancel(id))
                    responses.append(try await transport.cancel(id))
                }
            } catch {
                end = error
            }
            #expect(responses.map(\.status) == ["in_progress", "cancelled", "cancelled"])
            guard case .responseTerminalFailure(let response)? = end as? ChappieClientError else {
                Issue.record("another end: \(String(describing: end))")
                return
            }
            #expect(response.status == "cancelled")
        }
    }

    @Test func clientRetrievesAndCancelsToo() async throws {
        try await withServer(Self.configuration()) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let handle = transport.streamHandle(Self.request)
            for try await _ in handle.events {}
            let id = try #require(handle.response?.id)
            let client = Chappie.client(configuration: .loopback(server))
            let retrieved = try await client.retrieve(id)
            #expect(retrieved.outputText == LoopbackTurn.model.fullText)
            let cancelled = try await client.cancel(id)
            #expect(cancelled.outputItems == retrieved.outputItems)
            #expect(client.context.items.isEmpty)
        }
    }

    @Test func responseThatTheServerDoesNotHaveIs404() async throws {
        try await withServer(Self.configuration()) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            await #expect { try await transport.retrieve("resp_0") } throws: { error in
                guard case .httpError(404, _)? = error as? ChappieClientError else { return false }
                return true
            }
        }
    }

    // MARK: Another process

    /// Behind each event of a response, another engine continues; meanwhile the server still makes the rest.
    @Test(arguments: [nil, 400.0]) func anotherProcessContinuesBehindEveryEvent(eventsPerSecond: Double?) async throws {
        try await withServer(Self.configuration { $0.eventsPerSecond = eventsPerSecond }) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let handle = transport.streamHandle(Self.request)
            var texts: [(point: ChappieResumePoint, text: String)] = []
            var text = ""
            for try await event in handle.sequence() {
                if case .textDelta(let delta) = event { text += delta }
                if let point = handle.resumePoint, point != texts.last?.point { texts.append((point, text)) }
            }
            #expect(text == LoopbackTurn.model.fullText)
            #expect(texts.count > 20)
            let last = try #require(texts.last?.point)
            #expect(last == handle.resumePoint)
            for (point, before) in texts {
                let another = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
                let rest = another.streamHandle(resuming: point)
                var end = ""
                var completions = 0
                for try await event in rest.events {
                    if case .textDelta(let delta) = event { end += delta }
                    if event == .completed { completions += 1 }
                }
                #expect(before + end == text, "behind \(point)")
                #expect(completions == 1)
                #expect(rest.resumePoint == last)
                #expect(rest.response?.usage == handle.response?.usage)
            }
        }
    }

    private static func clientRequest() throws -> ChappieResponseRequest {
        var request = try ChappieResponseRequest(bodyJSON: #"{"background":true,"store":true}"#)
        request.messages = [.user("hi")]
        return request
    }

    /// Behind each event of a client's turn, another client continues its response.
    @Test(arguments: [false, true]) func anotherClientContinuesTheResponseOfATurn(inSequence: Bool) async throws {
        try await withServer(Self.configuration()) { server in
            let handle = Chappie.client(configuration: .loopback(server)).streamHandle(try Self.clientRequest())
            #expect(handle.resumePoint == nil)
            var texts: [(point: ChappieResumePoint, text: String)] = []
            var text = ""
            func take(_ event: ChappieStreamEvent) {
                if case .textDelta(let delta) = event { text += delta }
                if let point = handle.resumePoint, point != texts.last?.point { texts.append((point, text)) }
            }
            if inSequence {
                for try await event in handle.sequence() { take(event) }
            } else {
                for try await event in handle.events { take(event) }
            }
            #expect(text == LoopbackTurn.model.fullText)
            #expect(texts.count > 20)
            #expect(texts.last?.point == handle.resumePoint)
            for (point, before) in texts {
                let another = Chappie.client(configuration: .loopback(server))
                let rest = await ClientOutcome.read(another.streamHandle(resuming: point))
                #expect(rest.error == nil)
                #expect(before + rest.text == text, "behind \(point)")
                #expect(rest.completions == 1)
            }
        }
    }

    /// A position behind the item of a call, which the client delivers at the end, would skip the call.
    @Test func turnOfAClientWithToolsHasPositionsUpToTheCallsOfAResponse() async throws {
        try await withServer(Self.configuration()) { server in
            let tool = ChappieHostTool(name: "t", description: "") { _ in ChappieToolResult(output: "") }
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let handle = client.streamHandle(try Self.clientRequest())
            var texts: [(point: ChappieResumePoint, text: String)] = []
            var text = ""
            for try await event in handle.events {
                switch event {
                case .textDelta(let delta): text += delta
                case .toolCallRequested, .toolCallCompleted: #expect(handle.resumePoint == nil)
                default: break
                }
                if let point = handle.resumePoint, point != texts.last?.point { texts.append((point, text)) }
            }
            #expect(text == LoopbackTurn.model.fullText)
            let last = try #require(handle.response?.id)
            #expect(handle.resumePoint?.responseID == last)
            #expect(texts.contains { $0.point.responseID != last } && texts.contains { $0.point.responseID == last })
            for (point, before) in texts {
                let another = Chappie.client(configuration: .loopback(server))
                let rest = await ClientOutcome.read(another.streamHandle(resuming: point))
                #expect(rest.error == nil && rest.completions == 1)
                let calls = rest.events.filter { event in
                    guard case .raw("response.output_item.done", let json) = event else { return false }
                    return ChappieJSONValue(jsonText: json)?["item"]?["type"]?.string == "function_call"
                }
                #expect(calls.count == (point.responseID == last ? 0 : 1), "behind \(point)")
                if point.responseID == last { #expect(before + rest.text == text, "behind \(point)") }
            }
        }
    }

    /// The first process ends in the middle, and the second one loses its connection.
    @Test func resumedStreamIsRecovered() async throws {
        let faults = [
            ChappieTestServer.Fault(.cutAfterEvent(event: 25), attempts: 2...2),
            ChappieTestServer.Fault(.cutAfterEvent(event: 5), attempts: 3...3),
        ]
        try await withServer(Self.configuration { $0.faults = faults }) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let handle = transport.streamHandle(Self.request)
            var text = ""
            for try await event in handle.events {
                if case .textDelta(let delta) = event { text += delta }
                if text.utf8.count > 60 { break }
            }
            let stored = try #require(handle.resumePoint?.description)
            let point = try #require(ChappieResumePoint(stored))
            let rest = client.streamHandle(resuming: point)
            for try await event in rest.events {
                if case .textDelta(let delta) = event { text += delta }
            }
            #expect(text == LoopbackTurn.model.fullText)
            #expect(rest.report.attempts.map(\.outcome) == ["connection.lost", "connection.lost", "completed"])
            #expect(client.context.items.isEmpty)
        }
    }

    @Test func responseWhoseEventsAreGoneIsRetrieved() async throws {
        try await withServer(Self.configuration { $0.resumeLifetime = .zero }) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let handle = transport.streamHandle(Self.request)
            for try await _ in handle.events {}
            let point = try #require(handle.resumePoint)
            var tag: String?
            do {
                for try await _ in transport.resume(point.responseID, after: point.sequenceNumber) {}
            } catch {
                tag = (error as? ChappieClientError)?.tag
            }
            #expect(tag == "resume.expired")
            let response = try await transport.retrieve(point.responseID)
            #expect(response.outputText == LoopbackTurn.model.fullText)
        }
    }
}
