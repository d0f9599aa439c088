package import ChappieRelay
import ChappieTransport
import HTTPProtocol
import PlatformFoundation
import RelayHTTPServer
import ResponseEvents
import StreamTransport

/// A hub behind an HTTP server: the Responses API for any upstream, and event streams for browsers.
///
/// May be used from any task.
package final class Relay: Sendable {
    let hub: ChappieHub
    let configuration: RelayConfiguration
    private let keys: LockedValue<RelayKeys?>
    let metrics = RelayMetrics()
    private let server = LockedValue<HTTPServer?>(nil)
    private let isDraining = LockedValue(false)
    private let beginning = ContinuousClock.now
    /// The requests of each key that are answered now, by their exchanges.
    private let requests = LockedValue<[String: Set<ObjectIdentifier>]>([:])

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
            self.refuse(caller, refusal.status, refusal.code, refusal.message, refusal.fields)
        } else if !self.countRequest(of: caller) {
            self.refuse(caller, 429, "too_many_requests", "Too many requests with this key are being answered.")
        } else {
            await self.perform(route, request, caller)
        }
        self.log(request, requestID, caller.name, ContinuousClock.now - began)
    }

    /// Counts a request of a key until its answer has ended; false when the key has as many as it may have.
    private func countRequest(of caller: Caller) -> Bool {
        guard let name = caller.name else { return true }
        let id = ObjectIdentifier(caller.exchange)
        let isAdmitted = self.requests.withLock { requests in
            guard requests[name, default: []].count < self.configuration.requestsPerKey else { return false }
            requests[name, default: []].insert(id)
            return true
        }
        // A WebSocket is counted until its closing handshake, and any request until its client has gone.
        if isAdmitted { caller.exchange.whenEnded { [weak self] _ in self?.endRequest(id, of: name) } }
        return isAdmitted
    }

    /// Counts a request no longer; of no effect for one that is not counted.
    ///
    /// It is called before the last part of an answer is sent: a client that has read it may send the next request.
    func endRequest(of caller: Caller) {
        if let name = caller.name { self.endRequest(ObjectIdentifier(caller.exchange), of: name) }
    }

    private func endRequest(_ id: ObjectIdentifier, of name: String) {
        self.requests.withLock { requests in
            requests[name]?.remove(id)
            if requests[name]?.isEmpty == true { requests[name] = nil }
        }
    }

    private struct Admission {
        let status: Int
        let code: String
        let message: String
        var fields: [(name: String, value: String)] = []
    }

    /// Finds the user of a request by its key; returns the reason for which the request is refused, or nil.
    private func admit(_ request: HTTPServerRequest, _ route: RelayRoute, _ caller: inout Caller) -> Admission? {
        switch route {
        case .health, .readiness: return nil
        default: break
        }
        guard let keys = self.keys.withLock({ $0 }) else { return nil }
        let field = request.fields.value(of: "authorization") ?? ""
        // Only the page is for a person: a browser repeats a password by itself, also where another page makes it ask.
        guard let key = Self.key(in: field, takesPassword: route == .status), let name = keys.name(of: key) else {
            let challenge = ("WWW-Authenticate", "Basic realm=\"chappie relay\", charset=\"UTF-8\"")
            return Admission(
                status: 401, code: "invalid_api_key", message: "The key is missing or unknown.",
                fields: route == .status && self.configuration.showsStatus ? [challenge] : [])
        }
        caller = Caller(exchange: caller.exchange, name: name, fields: caller.fields, isHead: caller.isHead)
        return nil
    }

    /// Returns the key in a field `Authorization`; with `takesPassword`, the password of the scheme Basic (RFC 7617) as well.
    static func key(in field: String, takesPassword: Bool) -> String? {
        let words = field.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { return nil }
        let credentials = String(words[1].drop { $0 == " " })
        switch words[0].lowercased() {
        case "bearer": return credentials
        case "basic" where takesPassword:
            guard let pair = Data(base64Encoded: credentials).map({ String(decoding: $0, as: UTF8.self) }),
                let colon = pair.firstIndex(of: ":")
            else { return nil }
            return String(pair[pair.index(after: colon)...])
        default: return nil
        }
    }

    private var connectionCount: Int { self.server.withLock { $0?.connectionCount ?? 0 } }

    private func respondStatus(_ caller: Caller) {
        guard self.configuration.showsStatus else {
            return self.refuse(caller, 404, "not_found", "There is nothing at this path.")
        }
        let page = StatusPage.html(
            StatusPage.Snapshot(
                streams: self.hub.runningStreams, counts: self.hub.counts, readers: self.metrics.readerCount,
                connections: self.connectionCount, uptime: self.beginning.duration(to: .now),
                isDraining: self.isDraining.withLock { $0 }))
        self.respond(caller, 200, page, StatusPage.fields)
    }

    private func perform(_ route: RelayRoute, _ request: HTTPServerRequest, _ caller: Caller) async {
        switch route {
        case .createResponse: await self.createResponse(request, caller)
        case .responsesWebSocket: await self.serveWebSocket(caller)
        case .compactConversation: await self.serve(caller) { try await self.compact(request, caller) }
        case .response(let id, let streams, let after):
            await self.serve(id, caller) { facts in
                if streams {
                    await self.writeResponse(id, facts, after: after ?? -1, caller)
                } else {
                    try await self.respondResponse(id, facts, caller)
                }
            }
        case .cancelResponse(let id):
            await self.serve(id, caller) { facts in
                try await self.hub.cancel(id)
                try await self.respondResponse(id, facts, caller, waitsForEnd: true)
            }
        case .deleteResponse(let id):
            await self.serve(caller) {
                try await self.hub.requireStream(id, for: caller.name)
                try await self.hub.delete(id)
                let name = ResponsesWriter.responseID(of: id)
                self.respond(caller, 200, "{\"id\":\"\(name)\",\"object\":\"response\",\"deleted\":true}")
            }
        case .createStream: await self.createStream(request, caller)
        case .stream(let id):
            let last = request.fields.value(of: "last-event-id").flatMap { Int($0) } ?? 0
            await self.serve(id, caller) { await self.writeStream(id, $0.state, after: last, caller) }
        case .cancelStream(let id):
            await self.serve(caller) {
                try await self.hub.requireStream(id, for: caller.name)
                try await self.hub.cancel(id)
                self.respond(caller, 204, "")
            }
        case .status: self.respondStatus(caller)
        case .health: self.respond(caller, 200, "{\"status\":\"ok\"}")
        case .readiness:
            if self.isDraining.withLock({ $0 }) {
                self.refuse(caller, 503, "draining", "The relay is shutting down.")
            } else {
                self.respond(caller, 200, "{\"status\":\"ready\"}")
            }
        case .metrics:
            let text = self.metrics.text(
                self.hub.counts, producers: self.hub.producerCount, connections: self.connectionCount)
            self.respond(caller, 200, text, [("Content-Type", "text/plain; version=0.0.4")])
        case .wrongMethod(let allowed):
            self.refuse(caller, 405, "method_not_allowed", "This path takes \(allowed).", [("Allow", allowed)])
        case .unknown: self.refuse(caller, 404, "not_found", "There is nothing at this path.")
        }
    }

    /// Runs what concerns one stream, with its facts, if it belongs to the caller.
    private func serve(
        _ id: ChappieStreamID, _ caller: Caller, _ body: (ChappieHub.Facts) async throws -> Void
    ) async {
        await self.serve(caller) { try await body(try await self.hub.facts(of: id, for: caller.name)) }
    }

    /// Runs what answers a request, and refuses the request where that fails.
    private func serve(_ caller: Caller, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            self.refuse(caller, error)
        }
    }

    // MARK: Starting

    private static let keyByteCountLimit = 255

    /// Starts the stream of a request, or returns that of its repeated key.
    ///
    /// Throws `RelayRequest.Refusal` and `ChappieHubError`. `ownResponses` are those that the caller's connection has made
    /// and alone may continue.
    func begin(
        _ relayed: RelayRequest, key: String?, _ caller: Caller, ownResponses: UnstoredResponses = UnstoredResponses()
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
        var client = ChappieHub.Client()
        client.reader = caller.name
        client.streamLimit = self.configuration.streamsPerKey
        client.previousResponseID = relayed.previousResponseID
        client.isBackground = relayed.isBackground
        let id = try await self.hub.start(relayed.request, key: key, for: client)
        self.metrics.started()
        return id
    }

    /// Puts the conversation of a complete response in front of a request's input.
    ///
    /// One with `store` false is continued on the connection that has made it, and nowhere else, as in OpenAI's
    /// WebSocket mode and Open Responses.
    func continues(
        _ previous: String, _ relayed: inout RelayRequest, _ caller: Caller,
        _ ownResponses: UnstoredResponses = UnstoredResponses()
    ) async throws {
        let name = "previous_response_id"
        func notFound(_ message: String) -> RelayRequest.Refusal {
            RelayRequest.Refusal(message: message, parameter: name, code: "previous_response_not_found")
        }
        guard let earlier = ResponsesWriter.stream(of: previous) else {
            throw notFound("The previous response is not one of this relay.")
        }
        let facts: ChappieHub.Facts
        do {
            facts = try await self.hub.facts(of: earlier, for: caller.name)
        } catch ChappieHubError.unknownStream {
            throw notFound("The previous response is unknown or expired.")
        }
        guard RelayRequest.isStored(facts.body) || ownResponses.contains(previous) else {
            throw notFound("The previous response was not stored, and is not the connection's own.")
        }
        guard facts.state.status == .completed else {
            throw RelayRequest.Refusal(message: "The previous response is not complete.", parameter: name)
        }
        relayed.continues(facts.body, items: facts.items)
        let limit = self.configuration.server.limits.request.bodyByteCount
        guard relayed.request.body.count <= limit else {
            throw RelayRequest.Refusal(message: "The conversation has more than \(limit) bytes.", parameter: name)
        }
    }

    // MARK: Origins

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

    private func log(_ request: HTTPServerRequest, _ id: String, _ name: String?, _ duration: Duration) {
        guard let logLine = self.configuration.logLine else { return }
        let members = [
            "\"request\":" + Self.quoted(id), "\"method\":" + Self.quoted(request.method),
            "\"path\":" + Self.quoted(String(request.path.prefix(200))), "\"key\":" + (name.map(Self.quoted) ?? "null"),
            "\"milliseconds\":\(Int(duration / .milliseconds(1)))",
        ]
        logLine("{\(members.joined(separator: ","))}")
    }
}
