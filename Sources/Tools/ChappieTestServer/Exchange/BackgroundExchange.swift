// Requests about a response by its id: the rest of its events, its current state, its cancellation.
//
// Owned by the connection thread.

/// Answers one request of `/v1/responses/{id}`.
struct BackgroundExchange {
    private let exchange: Exchange
    private let id: String
    private let cancels: Bool

    private var configuration: ChappieTestServer.Configuration { self.exchange.parts.configuration }

    /// Prepares the answer about a response.
    init(_ exchange: Exchange, id: String, cancels: Bool) {
        self.exchange = exchange
        self.id = id
        self.cancels = cancels
    }

    /// Returns the response that a path below the endpoint names, and whether it is to be cancelled; nil for other
    /// paths.
    static func target(_ request: HTTPRequest) -> (id: String, cancels: Bool)? {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 3, parts[1] == "v1", parts[2] == "responses", !parts[3].isEmpty else { return nil }
        if parts.count == 4, request.method == "GET" { return (parts[3], false) }
        return parts.count == 5 && parts[4] == "cancel" && request.method == "POST" ? (parts[3], true) : nil
    }

    /// Sends the answer.
    ///
    /// The connection may carry another request when this returns true.
    func run() throws(ConnectionEnd) -> Bool {
        if try self.exchange.sendReplacement() { return true }
        let background = self.exchange.parts.background
        if self.cancels { background.cancel(self.id) }
        guard let entry = background.entry(self.id, lifetime: self.configuration.responseLifetime) else {
            return try self.refuse(status: 404, "Response with id '\(self.id)' not found.")
        }
        guard !self.cancels, self.exchange.request.parameter("stream") == "true" else {
            try self.exchange.send(status: 200, body: entry.object)
            return true
        }
        let after = self.exchange.request.parameter("starting_after") ?? "-1"
        guard let number = Int(after) else { return try self.refuse(status: 400, "starting_after is not a number.") }
        guard entry.age <= self.configuration.resumeLifetime else {
            return try self.refuse(
                status: 400,
                "This response can no longer be streamed because it is more than 5 minutes old")
        }
        var script = entry.script
        let (last, overflow) = number.addingReportingOverflow(self.exchange.faults.resumptionOffset)
        script.removeEvents(upTo: overflow ? number : last)
        var stream = EventStreamExchange(self.exchange)
        return try stream.sendStream(script)
    }

    private func refuse(status: Int, _ message: String) throws(ConnectionEnd) -> Bool {
        try self.exchange.send(status: status, body: ErrorBody.body(message: message))
        return true
    }
}
