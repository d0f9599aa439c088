package import ChappieRelay
import ChappieTransport
import HTTPProtocol
import PlatformFoundation
import RelayHTTPServer
import ResponseEvents
import StreamTransport
import WebSocketProtocol

/// A hub behind an HTTP server: the Responses API for any upstream, and event streams for browsers.
///
/// May be used from any task.
package final class Relay: Sendable {
    private let hub: ChappieHub
    private let configuration: RelayConfiguration
    private let keys: LockedValue<RelayKeys?>
    private let metrics = RelayMetrics()
    private let server = LockedValue<HTTPServer?>(nil)
    private let isDraining = LockedValue(false)
    /// The number of requests of each key that are answered now.
    private let requestCounts = LockedValue<[String: Int]>([:])

    /// Creates a relay; `start()` begins to listen.
    package init(_ hub: ChappieHub, _ configuration: RelayConfiguration) {
        self.hub = hub
        self.configuration = configuration
        self.keys = LockedValue(configuration.keys)
    }

    /// Listens; returns the port.
    package func start() async throws -> UInt16 {
        let server = try await HTTPServer.start(self.configuration.server) { [weak self] request, exchange in
            guard let self else { return exchange.abort() }
            exchange.run { await self.answer(request, exchange) }
        }
        self.server.withLock { $0 = server }
        return server.port
    }

    /// Replaces the keys, such as behind a change of their file.
    package func replaceKeys(_ keys: RelayKeys) { self.keys.withLock { $0 = keys } }

    /// Ends the relay: starts no more streams, hands running ones over, and tells readers to come again.
    package func stop(gracePeriod: Duration) async {
        self.isDraining.withLock { $0 = true }
        await self.hub.shutdown(gracePeriod: gracePeriod)
        await self.server.withLock { $0 }?.stop(within: .seconds(2))
    }

    // MARK: Requests

    /// The user and the exchange of a request.
    private struct Caller {
        let exchange: HTTPExchange
        let name: String?
        /// The fields of every answer.
        let fields: [(name: String, value: String)]
        /// Indicates whether only the head of the answer is asked for.
        var isHead = false
    }

    private func answer(_ request: HTTPServerRequest, _ exchange: HTTPExchange) async {
        let began = ContinuousClock.now
        let requestID =
            request.fields.value(of: "x-request-id").flatMap { Self.isPlain($0) ? $0 : nil }
            ?? UUID().uuidString.lowercased()
        let fields = [("x-request-id", requestID)] + self.originFields(request)
        let route = RelayRoute(
            method: request.method, path: request.path, query: request.query, isUpgrade: request.isWebSocketUpgrade)
        var caller = Caller(exchange: exchange, name: nil, fields: fields, isHead: request.method == "HEAD")
        if !self.permitsOrigin(of: request) {
            self.refuse(caller, 403, "origin_not_allowed", "Pages of this origin may not use the relay.")
        } else if request.method == "OPTIONS" {
            self.respond(
                caller, 204, "",
                [
                    ("Access-Control-Allow-Methods", "GET, POST, DELETE"),
                    (
                        "Access-Control-Allow-Headers",
                        "authorization, content-type, idempotency-key, last-event-id, x-request-id"
                    ),
                    ("Access-Control-Max-Age", "600"),
                ])
        } else if let refusal = self.admit(request, route, &caller) {
            self.refuse(caller, refusal.status, refusal.code, refusal.message)
        } else if !self.countRequest(of: caller.name) {
            self.refuse(caller, 429, "too_many_requests", "Too many requests with this key are being answered.")
        } else {
            await self.perform(route, request, caller)
            self.requestEnded(of: caller.name)
        }
        self.log(request, requestID, caller.name, ContinuousClock.now - began)
    }

    /// Counts a request that is answered now; false when its key has as many as it may have.
    private func countRequest(of name: String?) -> Bool {
        guard let name else { return true }
        return self.requestCounts.withLock { counts in
            guard counts[name, default: 0] < self.configuration.requestsPerKey else { return false }
            counts[name, default: 0] += 1
            return true
        }
    }

    private func requestEnded(of name: String?) {
        guard let name else { return }
        self.requestCounts.withLock { counts in
            if let count = counts[name] { counts[name] = count > 1 ? count - 1 : nil }
        }
    }

    private struct Admission {
        let status: Int
        let code: String
        let message: String
    }

    /// Finds out who asks; returns why the request is refused, or nil.
    private func admit(_ request: HTTPServerRequest, _ route: RelayRoute, _ caller: inout Caller) -> Admission? {
        switch route {
        case .health, .readiness: return nil
        default: break
        }
        guard let keys = self.keys.withLock({ $0 }) else { return nil }
        let field = request.fields.value(of: "authorization") ?? ""
        let words = field.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer",
            let name = keys.name(of: String(words[1].drop { $0 == " " }))
        else {
            return Admission(status: 401, code: "invalid_api_key", message: "The key is missing or unknown.")
        }
        caller = Caller(exchange: caller.exchange, name: name, fields: caller.fields, isHead: caller.isHead)
        return nil
    }

    private func perform(_ route: RelayRoute, _ request: HTTPServerRequest, _ caller: Caller) async {
        switch route {
        case .createResponse: await self.createResponse(request, caller)
        case .responsesWebSocket: await self.serveWebSocket(caller)
        case .response(let id, let streams, let after):
            await self.serve(id, caller) {
                if streams {
                    try await self.writeResponse(id, after: after ?? -1, caller)
                } else {
                    try await self.respondResponse(id, caller)
                }
            }
        case .cancelResponse(let id):
            await self.serve(id, caller) {
                try await self.hub.cancel(id)
                try await self.respondResponse(id, caller, waitsForEnd: true)
            }
        case .deleteResponse(let id):
            await self.serve(id, caller) {
                try await self.hub.delete(id)
                let name = ResponsesWriter.responseID(of: id)
                self.respond(caller, 200, "{\"id\":\"\(name)\",\"object\":\"response\",\"deleted\":true}")
            }
        case .createStream: await self.createStream(request, caller)
        case .stream(let id):
            let last = request.fields.value(of: "last-event-id").flatMap { Int($0) } ?? 0
            await self.serve(id, caller) { try await self.writeStream(id, after: last, caller) }
        case .cancelStream(let id):
            await self.serve(id, caller) {
                try await self.hub.cancel(id)
                self.respond(caller, 204, "")
            }
        case .health: self.respond(caller, 200, "{\"status\":\"ok\"}")
        case .readiness:
            if self.isDraining.withLock({ $0 }) {
                self.refuse(caller, 503, "draining", "The relay is shutting down.")
            } else {
                self.respond(caller, 200, "{\"status\":\"ready\"}")
            }
        case .metrics:
            let text = self.metrics.text(
                producers: self.hub.producerCount, connections: self.server.withLock { $0?.connectionCount ?? 0 })
            self.respond(caller, 200, text, [("Content-Type", "text/plain; version=0.0.4")])
        case .wrongMethod(let allowed):
            self.refuse(caller, 405, "method_not_allowed", "This path takes \(allowed).", [("Allow", allowed)])
        case .unknown: self.refuse(caller, 404, "not_found", "There is nothing at this path.")
        }
    }

    /// Runs what concerns one stream, if it belongs to who asks.
    private func serve(_ id: ChappieStreamID, _ caller: Caller, _ body: () async throws -> Void) async {
        do {
            guard try await self.hub.reader(of: id) == caller.name else { throw ChappieHubError.unknownStream }
            try await body()
        } catch {
            self.refuse(caller, error)
        }
    }

    // MARK: Starting

    private static let keyByteCountLimit = 255

    /// Starts the stream of a request; nil when it was refused.
    ///
    /// `ownResponses` are those that the connection has made.
    private func begin(
        _ relayed: RelayRequest, key: String?, _ caller: Caller, ownResponses: Set<String> = []
    ) async throws -> ChappieStreamID {
        var relayed = relayed
        if let previous = relayed.previousResponseID {
            try await self.continues(previous, &relayed, caller, ownResponses)
        }
        if let key, key.utf8.count > Self.keyByteCountLimit {
            throw RelayRequest.Refusal(
                message: "The Idempotency-Key has more than \(Self.keyByteCountLimit) bytes.", parameter: nil)
        }
        // Neither a name nor a field's value has a line feed, so that no user's keys are another one's.
        let key = key.map { "\(caller.name ?? "")\n\($0)" }
        let id = try await self.hub.start(
            relayed.request, key: key, reader: caller.name, readerLimit: self.configuration.streamsPerKey,
            previousResponseID: relayed.previousResponseID)
        self.metrics.started()
        return id
    }

    /// Puts the conversation of a complete response in front of a request's input.
    ///
    /// One with `store` false is continued on the connection that has made it, and nowhere else, as in OpenAI's WebSocket
    /// mode and Open Responses.
    private func continues(
        _ previous: String, _ relayed: inout RelayRequest, _ caller: Caller, _ ownResponses: Set<String>
    ) async throws {
        let name = "previous_response_id"
        func notFound(_ message: String) -> RelayRequest.Refusal {
            RelayRequest.Refusal(message: message, parameter: name, code: "previous_response_not_found")
        }
        guard let earlier = ResponsesWriter.stream(of: previous) else {
            throw notFound("The previous response is not one of this relay.")
        }
        let (status, facts): (ChappieStreamState.Status, ChappieHub.Facts)
        do {
            guard try await self.hub.reader(of: earlier) == caller.name else { throw ChappieHubError.unknownStream }
            (status, facts) = (try await self.hub.state(of: earlier).status, try await self.hub.facts(of: earlier))
        } catch ChappieHubError.unknownStream {
            throw notFound("The previous response is unknown or expired.")
        }
        guard RelayRequest.isStored(facts.body) || ownResponses.contains(previous) else {
            throw notFound("The previous response was not stored, and is not the connection's own.")
        }
        guard status == .completed else {
            throw RelayRequest.Refusal(message: "The previous response is not complete.", parameter: name)
        }
        relayed.continues(facts.body, items: facts.items)
        let limit = self.configuration.server.limits.request.bodyByteCount
        guard relayed.request.body.count <= limit else {
            throw RelayRequest.Refusal(message: "The conversation has more than \(limit) bytes.", parameter: name)
        }
    }

    private func createResponse(_ request: HTTPServerRequest, _ caller: Caller) async {
        do {
            let relayed = try RelayRequest(request.body, model: self.configuration.model)
            let id = try await self.begin(relayed, key: request.fields.value(of: "idempotency-key"), caller)
            if relayed.streams {
                try await self.writeResponse(id, after: -1, caller)
            } else {
                try await self.respondResponse(id, caller, waitsForEnd: !relayed.isBackground)
            }
        } catch {
            self.refuse(caller, error)
        }
    }

    private func createStream(_ request: HTTPServerRequest, _ caller: Caller) async {
        do {
            let relayed = try RelayRequest(request.body, model: self.configuration.model)
            let id = try await self.begin(relayed, key: request.fields.value(of: "idempotency-key"), caller)
            self.respond(
                caller, 201, "{\"id\":\"\(id)\",\"url\":\"/streams/\(id)\"}", [("Location", "/streams/\(id)")])
        } catch {
            self.refuse(caller, error)
        }
    }

    // MARK: The Responses API

    /// Gives the events of a response to a closure, with their numbers.
    private func events(
        of id: ChappieStreamID, _ facts: ChappieHub.Facts, after number: Int,
        _ body: ([ResponsesWriter.Event]) async throws -> Void
    ) async throws {
        var writer = ResponsesWriter(id, facts)
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
                    case .completed: new += writer.completed(try await self.upstreamResponse(id))
                    case .restarted:
                        isRestarted = true
                        new += writer.failed(
                            code: "restarted", message: "the answer begins anew, which this API cannot say")
                    default: new += writer.received(element.event)
                    }
                }
                new.removeAll { $0.number <= number }
                if !new.isEmpty { try await body(new) }
                if isRestarted { return }
            }
        } catch let error as ChappieHubError where error.isOfResponse {
            let (code, message) = Self.words(error)
            try await body(writer.failed(code: code, message: message).filter { $0.number > number })
        }
    }

    private func upstreamResponse(_ id: ChappieStreamID) async throws -> RelayedResponse {
        let end = try await self.hub.facts(of: id)
        return RelayedResponse(
            model: end.upstreamModel, usage: end.usage, completedAt: end.completedAt, items: end.items)
    }

    private func writeResponse(_ id: ChappieStreamID, after number: Int, _ caller: Caller) async throws {
        let facts = try await self.hub.facts(of: id)
        await self.stream(to: caller) {
            try await self.events(of: id, facts, after: number) { events in
                var bytes: [UInt8] = []
                for event in events {
                    bytes += "event: \(event.type)\ndata: ".utf8
                    bytes += event.json
                    bytes += "\n\n".utf8
                }
                self.metrics.wrote(events.count)
                try await caller.exchange.write(bytes)
            }
        }
    }

    /// Answers with an event stream that a closure writes.
    ///
    /// If it throws, the answer is cut: the client reconnects and continues from its position.
    private func stream(to caller: Caller, _ body: () async throws -> Void) async {
        do {
            try caller.exchange.begin(fields: caller.fields + Self.streamFields)
            self.metrics.answered(200)
            guard !caller.isHead else { return caller.exchange.finish() }
            // Proxies close answers that are silent for long.
            let signOfLife = Task {
                while true {
                    try await Task.sleep(for: .seconds(15))
                    try await caller.exchange.write(Array(":\n\n".utf8))
                }
            }
            defer { signOfLife.cancel() }
            try await body()
            caller.exchange.finish()
        } catch {
            caller.exchange.abort()
        }
    }

    /// Answers with the response as an object, at its end or as it is now.
    private func respondResponse(_ id: ChappieStreamID, _ caller: Caller, waitsForEnd: Bool = false) async throws {
        // A client that asks from time to time reads, also before there is output.
        try? await self.hub.noteReader(of: id)
        var state = try await self.hub.state(of: id)
        let facts = try await self.hub.facts(of: id)
        let empty = ResponsesWriter(id, facts)
        var writer = empty
        let isRead = state.status == .running && !waitsForEnd
        if !isRead || state.lastPosition > 0 {
            do {
                for try await element in self.hub.events(of: id) {
                    if case .restarted = element.event { writer = empty } else { _ = writer.received(element.event) }
                    if isRead, element.position >= state.lastPosition { break }
                }
            } catch let error as ChappieHubError where error.isOfResponse {
                // The state says how it ended.
            }
        }
        if !isRead { state = try await self.hub.state(of: id) }
        switch state.status {
        case .completed:
            let upstream = try await self.upstreamResponse(id)
            self.respond(caller, 200, writer.object(status: "completed", upstream))
        case .running: self.respond(caller, 200, writer.object(status: "in_progress"))
        case .cancelled: self.respond(caller, 200, writer.object(status: "cancelled"))
        case .failed:
            let failure = state.failure
            let last = writer.failed(code: failure?.tag ?? "failed", message: failure?.message ?? "failed").last
            self.respond(caller, 200, last.flatMap { RelayedItem.member("response", of: $0.json) } ?? "{}")
        }
    }

    private func serveWebSocket(_ caller: Caller) async {
        do {
            try caller.exchange.accept(fields: caller.fields)
        } catch {
            return caller.exchange.abort()
        }
        self.metrics.answered(101)
        var ownResponses: Set<String> = []
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
                let facts = try await self.hub.facts(of: id)
                try await self.events(of: id, facts, after: -1) { events in
                    for event in events { try await caller.exchange.write(event.json) }
                    self.metrics.wrote(events.count)
                }
                if try await self.hub.state(of: id).status == .completed {
                    ownResponses.insert(ResponsesWriter.responseID(of: id))
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

    // MARK: Event streams

    /// Writes a stream for a browser's `EventSource`: each event with its position as `id`.
    private func writeStream(_ id: ChappieStreamID, after position: Int, _ caller: Caller) async throws {
        let state = try await self.hub.state(of: id)
        // No event follows: 204 tells an EventSource not to reconnect (WHATWG HTML section 9.2). A reader that has more
        // than the journal of a stream that is not complete is told that records were lost.
        let isBehindEnd = position > state.lastPosition && state.status == .completed
        if isBehindEnd || (state.status != .running && position == state.lastPosition) {
            return self.respond(caller, 204, "")
        }
        await self.stream(to: caller) {
            self.metrics.readerCame()
            defer { self.metrics.readerLeft() }
            try await caller.exchange.write(Array("retry: 1000\n\n".utf8))
            var events = self.hub.events(of: id, after: position).makeAsyncIterator()
            let (exchange, metrics) = (caller.exchange, self.metrics)
            var last = position
            do {
                if state.status == .running, position > state.lastPosition {
                    throw ChappieHubError.failed(.recordsLost)
                }
                while let batch = try await events.nextBatch() {
                    let bytes = ChappieHubForm.eventSource.encode(batch)
                    self.metrics.wrote(batch.count)
                    last = batch.last?.position ?? last
                    if !bytes.isEmpty { try await caller.exchange.write(bytes) }
                    last = await events.pass(ChappieHubForm.eventSource) { bytes, count in
                        guard exchange.offer(bytes) == .accepted else { return false }
                        metrics.wrote(count)
                        return true
                    }
                }
            } catch let error as ChappieHubError where error.isOfResponse {
                let (code, message) = Self.words(error)
                last = max(last, try await self.hub.state(of: id).lastPosition)
                let data = Self.errorObject(code: code, message: message)
                try await caller.exchange.write(Array("id: \(last)\nevent: failed\ndata: \(data)\n\n".utf8))
            }
        }
    }

    // MARK: Answers

    private static let streamFields = [
        ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
    ]

    private func respond(
        _ caller: Caller, _ status: Int, _ body: String, _ fields: [(name: String, value: String)] = []
    ) {
        let type =
            fields.contains { $0.name == "Content-Type" } || body.isEmpty ? [] : [("Content-Type", "application/json")]
        do {
            try caller.exchange.respond(
                HTTPServerResponse(statusCode: status, fields: caller.fields + type + fields, body: Array(body.utf8)))
            self.metrics.answered(status)
        } catch {
            // An answer has begun, or the client has gone.
            caller.exchange.abort()
        }
    }

    private func refuse(
        _ caller: Caller, _ status: Int, _ code: String, _ message: String,
        _ fields: [(name: String, value: String)] = [], parameter: String? = nil
    ) {
        let error = Self.errorObject(code: code, message: message, parameter: parameter)
        let later = status == 429 || status == 503 ? [("Retry-After", "5")] : []
        self.respond(caller, status, "{\"error\":\(error)}", later + fields)
    }

    private func refuse(_ caller: Caller, _ error: any Error) {
        // The client has gone, so it cannot be told.
        if error is CancellationError || error is HTTPExchange.Failure { return }
        let (status, code, message) = Self.refusal(error)
        self.refuse(caller, status, code, message, parameter: (error as? RelayRequest.Refusal)?.parameter)
    }

    private static func refusal(_ error: any Error) -> (status: Int, code: String, message: String) {
        switch error {
        case let refusal as RelayRequest.Refusal: (400, refusal.code, refusal.message)
        case ChappieHubError.unknownStream: (404, "not_found", "The response is unknown or expired.")
        case ChappieHubError.tooManyStreams: (429, "too_many_streams", "Too many responses are being made.")
        case ChappieHubError.shutDown: (503, "draining", "The relay is shutting down.")
        case ChappieHubError.journal: (503, "journal_unavailable", "The journal cannot be used.")
        default: (500, "internal", "The relay has failed.")
        }
    }

    /// A code and a sentence for a reader of a stream.
    private static func words(_ error: ChappieHubError) -> (code: String, message: String) {
        switch error {
        case .failed(let failure): (failure.tag, failure.message)
        case .cancelled: ("cancelled", "the response was cancelled")
        default: (self.refusal(error).code, self.refusal(error).message)
        }
    }

    private static func errorObject(code: String, message: String, parameter: String? = nil) -> String {
        "{\"message\":\(self.quoted(message)),\"type\":\"relay_error\","
            + "\"param\":\(parameter.map(self.quoted) ?? "null"),\"code\":\(self.quoted(code))}"
    }

    /// Returns whether the page that sends the request, if a page does, may use the relay.
    ///
    /// A browser lets any page send a plain POST and open a WebSocket, and names its origin. Without keys only pages of
    /// this machine are the relay's own, since a foreign name may lead to it (DNS rebinding).
    private func permitsOrigin(of request: HTTPServerRequest) -> Bool {
        guard let origin = request.fields.value(of: "origin") else { return true }
        if self.configuration.allowedOrigins.contains(where: { $0 == "*" || $0 == origin }) { return true }
        guard let host = request.fields.value(of: "host"), origin == "http://\(host)" || origin == "https://\(host)"
        else {
            return false
        }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
        return self.keys.withLock { $0 != nil } || name == "localhost" || name == "::1" || name.hasPrefix("127.")
    }

    private func originFields(_ request: HTTPServerRequest) -> [(name: String, value: String)] {
        guard let origin = request.fields.value(of: "origin"),
            self.configuration.allowedOrigins.contains(where: { $0 == "*" || $0 == origin }), Self.isPlain(origin)
        else { return [] }
        return [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
    }

    /// Returns whether a client's text may stand in a field of an answer.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 256 && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    private func log(_ request: HTTPServerRequest, _ id: String, _ name: String?, _ duration: Duration) {
        guard let logLine = self.configuration.logLine else { return }
        let members = [
            "\"request\":" + Self.quoted(id), "\"method\":" + Self.quoted(request.method),
            "\"path\":" + Self.quoted(String(request.path.prefix(200))), "\"key\":" + (name.map(Self.quoted) ?? "null"),
            "\"milliseconds\":\(Int(duration / .milliseconds(1)))",
        ]
        logLine("{\(members.joined(separator: ","))}")
    }

    private static func quoted(_ text: String) -> String { String(decoding: JSONText.string(text), as: UTF8.self) }
}

extension ChappieHubError {
    /// Indicates whether the response itself has ended so, which every reader is told; what concerns the hub or the
    /// journal is no end of the response.
    fileprivate var isOfResponse: Bool {
        switch self {
        case .failed, .cancelled: true
        default: false
        }
    }
}
