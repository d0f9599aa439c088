import ChappieRelay
import ChappieTransport
import HTTPProtocol
import RelayHTTPServer
import ResponseEvents
import WebSocketProtocol

/// The Responses API of a relay, over HTTP and WebSockets.
extension Relay {
    /// Starts the response of a request, and answers with its events, with the response at its end, or as it is now.
    func createResponse(_ request: HTTPServerRequest, _ caller: Caller) async {
        do {
            let relayed = try RelayRequest(request.body, model: self.configuration.model)
            let id = try await self.begin(relayed, key: request.fields.value(of: "idempotency-key"), caller)
            let facts = try await self.hub.facts(of: id, for: caller.name)
            if relayed.streams {
                await self.writeResponse(id, facts, after: -1, caller)
            } else {
                try await self.respondResponse(id, facts, caller, waitsForEnd: !relayed.isBackground)
            }
        } catch {
            self.refuse(caller, error)
        }
    }

    /// Gives the events of a response to a closure, with their numbers.
    ///
    /// - Returns: whether the response is complete.
    @discardableResult
    private func events(
        of id: ChappieStreamID, _ facts: ChappieHub.Facts, after number: Int,
        _ body: ([ResponsesWriter.Event]) async throws -> Void
    ) async throws -> Bool {
        var writer = ResponsesWriter(id, facts)
        var isComplete = false
        var new = writer.begin().filter { $0.number > number }
        var events = self.hub.events(of: id).makeAsyncIterator()
        self.metrics.readerCame()
        defer { self.metrics.readerLeft() }
        do {
            if !new.isEmpty { try await body(new) }
            while let batch = try await events.nextBatch() {
                new = []
                var isRestarted = false
                for element in batch where !isRestarted {
                    switch element.event {
                    case .completed:
                        isComplete = true
                        new += writer.completed(RelayedResponse(try await self.factsOfEnd(id, facts)))
                    case .restarted:
                        isRestarted = true
                        new += writer.failed(
                            code: "restarted", message: "the answer begins anew, which this API cannot say")
                    default: new += writer.received(element.event)
                    }
                }
                new.removeAll { $0.number <= number }
                if !new.isEmpty { try await body(new) }
                if isRestarted { break }
            }
        } catch let error as ChappieHubError where error.isOfResponse {
            let (code, message) = Self.words(error)
            try await body(writer.failed(code: code, message: message).filter { $0.number > number })
        }
        return isComplete
    }

    /// Returns the facts of a stream that has ended, which are read again unless it had ended before.
    private func factsOfEnd(_ id: ChappieStreamID, _ facts: ChappieHub.Facts) async throws -> ChappieHub.Facts {
        facts.state.status == .running ? try await self.hub.facts(of: id, for: facts.reader) : facts
    }

    /// Answers with the events of a response behind a number.
    func writeResponse(
        _ id: ChappieStreamID, _ facts: ChappieHub.Facts, after number: Int, _ caller: Caller
    ) async {
        await self.stream(to: caller) {
            try await self.events(of: id, facts, after: number) { events in
                var bytes: [UInt8] = []
                for event in events {
                    bytes += "event: \(event.type)\ndata: ".utf8
                    bytes += event.json
                    bytes += "\n\n".utf8
                }
                self.metrics.wrote(events.count)
                if events.last?.isLast == true { self.endRequest(of: caller) }
                try await caller.exchange.write(bytes)
            }
        }
    }

    /// Answers with the response as an object, at its end or as it is now.
    func respondResponse(
        _ id: ChappieStreamID, _ facts: ChappieHub.Facts, _ caller: Caller, waitsForEnd: Bool = false
    ) async throws {
        // A client that polls counts as a reader, also before there is output.
        if facts.state.status == .running, !waitsForEnd { try? await self.hub.noteReader(of: id) }
        let empty = ResponsesWriter(id, facts)
        var writer = empty
        // A response that goes on is read up to what is there now.
        let isPartial = facts.state.status == .running && !waitsForEnd
        if !isPartial || facts.state.lastPosition > 0 {
            do {
                for try await element in self.hub.events(of: id) {
                    if case .restarted = element.event { writer = empty } else { _ = writer.received(element.event) }
                    if isPartial, element.position >= facts.state.lastPosition { break }
                }
            } catch let error as ChappieHubError where error.isOfResponse {
                // The state says how it ended.
            }
        }
        let end = isPartial ? facts : try await self.factsOfEnd(id, facts)
        switch end.state.status {
        case .completed: self.respond(caller, 200, writer.object(status: "completed", RelayedResponse(end)))
        case .running: self.respond(caller, 200, writer.object(status: "in_progress"))
        case .cancelled: self.respond(caller, 200, writer.object(status: "cancelled"))
        case .failed:
            let failure = end.state.failure
            let last = writer.failed(code: failure?.tag ?? "failed", message: failure?.message ?? "failed").last
            self.respond(caller, 200, last.flatMap { RelayedItem.member("response", of: $0.json) } ?? "{}")
        }
    }

    /// Has the upstream compact a conversation, with that of a response of this relay in front, and passes its answer on.
    func compact(_ request: HTTPServerRequest, _ caller: Caller) async throws {
        var relayed = try RelayRequest(request.body, model: self.configuration.model)
        if let previous = relayed.previousResponseID { try await self.continues(previous, &relayed, caller) }
        let answer = try await self.hub.compact(relayed.request.body)
        self.respond(caller, 200, String(decoding: answer, as: UTF8.self))
    }

    /// Answers the requests of a WebSocket one after the other, until it is closed.
    func serveWebSocket(_ caller: Caller) async {
        do {
            try caller.exchange.accept(fields: caller.fields)
        } catch {
            return caller.exchange.abort()
        }
        self.metrics.answered(101)
        var ownResponses = UnstoredResponses()
        while let message = await caller.exchange.receive() {
            var previous: String?
            // A continuation that fails takes the response that it continued with it.
            defer { if let previous { ownResponses.remove(previous) } }
            do {
                guard RelayedItem.member("type", of: Array(message.utf8)) == "\"response.create\"" else {
                    throw RelayRequest.Refusal(message: "The message is not a response.create.", parameter: "type")
                }
                let relayed = try RelayRequest(Array(message.utf8), model: self.configuration.model)
                previous = relayed.previousResponseID
                let id = try await self.begin(relayed, key: nil, caller, ownResponses: ownResponses)
                let facts = try await self.hub.facts(of: id, for: caller.name)
                let isComplete = try await self.events(of: id, facts, after: -1) { events in
                    for event in events { try await caller.exchange.write(event.json) }
                    self.metrics.wrote(events.count)
                }
                if isComplete {
                    if !RelayRequest.isStored(facts.body) { ownResponses.insert(ResponsesWriter.responseID(of: id)) }
                    previous = nil
                }
            } catch ChappieHubError.shutDown {
                return caller.exchange.close(code: .goingAway, reason: "come again")
            } catch is HTTPExchange.Failure {
                return
            } catch is CancellationError {
                return
            } catch {
                let (status, code, text) = Self.refusal(error)
                let json = Self.errorObject(
                    code: code, message: text, parameter: (error as? RelayRequest.Refusal)?.parameter)
                let frame = "{\"type\":\"error\",\"status\":\(status),\"error\":\(json)}"
                guard (try? await caller.exchange.send(frame)) != nil else { return }
            }
        }
    }
}
