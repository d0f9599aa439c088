// A session that is played without a connection, and its events.

import ServerSentEvents
import StreamSession
import StreamTransport

@testable import EventSource

/// A session, and the events that it has delivered.
struct SessionFixture {
    static let endpoint = TransportEndpoint(isSecure: false, host: "a.test", port: 80, target: "/events?x=1")

    var session: EventSourceSession
    private(set) var events: [ServerSentEvent] = []
    var moment = EventSourceSession.Moment(now: .zero)

    init(
        _ request: EventSourceSession.Exchange = .init(endpoint: Self.endpoint), lastEventID: String = "",
        _ change: (inout EventSourceSession.Settings) -> Void = { _ in }
    ) {
        var settings = EventSourceSession.Settings()
        settings.reconnection.jitter = 0
        settings.reconnection.backoff = .zero
        settings.reconnection.reconnectionTime = .zero
        change(&settings)
        self.session = EventSourceSession(request, lastEventID: lastEventID, settings: settings)
    }

    /// Starts the session and opens its stream.
    static func open(
        _ request: EventSourceSession.Exchange = .init(endpoint: Self.endpoint), lastEventID: String = "",
        _ change: (inout EventSourceSession.Settings) -> Void = { _ in }
    ) -> Self {
        var fixture = Self(request, lastEventID: lastEventID, change)
        _ = fixture.session.start()
        _ = fixture.session.head(.events)
        return fixture
    }

    /// Receives a text whole.
    @discardableResult mutating func receive(_ text: String) -> EventSourceSession.Action? {
        self.receive(Array(text.utf8))
    }

    /// Receives bytes whole.
    @discardableResult mutating func receive(_ bytes: [UInt8]) -> EventSourceSession.Action? {
        var events: [ServerSentEvent] = []
        defer { self.events += events }
        return bytes.withUnsafeBytes { bytes in
            self.session.receive(bytes, at: self.moment) { events.append(ServerSentEvent($0)) }
        }
    }

    /// Ends the connection.
    mutating func end(_ end: TransportEnd = .complete) -> EventSourceSession.Action {
        self.session.ended(end, at: self.moment)
    }

    /// Breaks the connection, waits, and returns the next request; nil when there is none.
    mutating func reconnect(_ end: TransportEnd = .lost) -> EventSourceSession.Exchange? {
        guard case .wait = self.end(end), case .connect(let exchange) = self.session.waited() else { return nil }
        return exchange
    }
}

extension ResponseHead {
    /// An answer that is an event stream.
    static let events = Self.answer(200, "Content-Type", "text/event-stream")

    /// An answer with one field, or none.
    static func answer(_ statusCode: Int, _ name: String = "Content-Type", _ value: String? = nil) -> Self {
        Self(statusCode: statusCode, fields: value.map { [HTTPField(name, $0)] } ?? [])
    }
}

extension TransportEnd {
    /// A connection that breaks in the middle of an answer.
    static let lost = Self.failed(TransportFailure(phase: .stream, cause: .connectionLost))
    /// A connection that cannot be established.
    static let unreachable = Self.failed(TransportFailure(phase: .connect, cause: .unreachable(code: 111)))
}

extension EventSourceSession.Exchange {
    /// The value of a field; nil without it.
    func value(of name: String) -> String? {
        self.fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

extension EventSourceSession.Action {
    /// The delay of a wait.
    var delay: Duration? { if case .wait(let delay, _) = self { delay } else { nil } }

    /// The request of a connection.
    var exchange: EventSourceSession.Exchange? { if case .connect(let exchange) = self { exchange } else { nil } }
}
