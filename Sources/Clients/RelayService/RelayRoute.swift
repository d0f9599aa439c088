import ChappieRelay

/// The route of a request, by its method and target.
///
/// Pure.
enum RelayRoute: Equatable {
    /// `POST /v1/responses`.
    case createResponse
    /// `GET /v1/responses` with an upgrade.
    case responsesWebSocket
    /// `POST /v1/responses/compact`.
    case compactConversation
    /// `GET /v1/responses/ID`.
    case response(ChappieStreamID, streams: Bool, after: Int?)
    /// `POST /v1/responses/ID/cancel`.
    case cancelResponse(ChappieStreamID)
    /// `DELETE /v1/responses/ID`.
    case deleteResponse(ChappieStreamID)
    /// `POST /streams`.
    case createStream
    /// `GET /streams/ID`.
    case stream(ChappieStreamID)
    /// `DELETE /streams/ID`.
    case cancelStream(ChappieStreamID)
    /// `GET /`.
    case status
    case health
    case readiness
    case metrics
    /// The path is known, and not with this method.
    case wrongMethod(allowed: String)
    case unknown

    init(method: String, path: String, query: String?, isUpgrade: Bool) {
        guard path != "/" else {
            self = Self.of(method == "HEAD" ? "GET" : method, ["GET": .status])
            return
        }
        var parts = path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        if parts.first == "v1" { parts.removeFirst() }
        let method = method == "HEAD" ? "GET" : method
        switch (parts.first, parts.count) {
        case ("healthz", 1): self = Self.of(method, ["GET": .health])
        case ("readyz", 1): self = Self.of(method, ["GET": .readiness])
        case ("metrics", 1): self = Self.of(method, ["GET": .metrics])
        case ("responses", 1):
            var routes: [String: Self] = ["POST": .createResponse]
            if isUpgrade { routes["GET"] = .responsesWebSocket }
            self = Self.of(method, routes)
        case ("responses", 2) where parts[1] == "compact": self = Self.of(method, ["POST": .compactConversation])
        case ("responses", 2):
            guard let id = ResponsesWriter.stream(of: parts[1]) else {
                self = .unknown
                return
            }
            let members = Self.members(of: query)
            let streams = members["stream"] == "true"
            let after = members["starting_after"].flatMap { Int($0) }
            self = Self.of(
                method, ["GET": .response(id, streams: streams, after: after), "DELETE": .deleteResponse(id)])
        case ("responses", 3) where parts[2] == "cancel":
            guard let id = ResponsesWriter.stream(of: parts[1]) else {
                self = .unknown
                return
            }
            self = Self.of(method, ["POST": .cancelResponse(id)])
        case ("streams", 1): self = Self.of(method, ["POST": .createStream])
        case ("streams", 2):
            guard let id = ChappieStreamID(parts[1]) else {
                self = .unknown
                return
            }
            self = Self.of(method, ["GET": .stream(id), "DELETE": .cancelStream(id)])
        default: self = .unknown
        }
    }

    private static func of(_ method: String, _ routes: [String: Self]) -> Self {
        routes[method] ?? .wrongMethod(allowed: routes.keys.sorted().joined(separator: ", "))
    }

    /// The members of a query; of several with a name the last.
    private static func members(of query: String?) -> [String: String] {
        (query ?? "").split(separator: "&").reduce(into: [:]) { members, pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            members[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
    }
}
