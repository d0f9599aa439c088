import EventSource
import Foundation
import StreamTransport
import Testing

/// A request of an event source, as its server received it, and the connection that it came on.
struct ReceivedRequest: Sendable {
    let peer: RawPeer
    /// The request line and the header section.
    let head: String

    /// The method and the target.
    var line: String { self.head.split(separator: " ").prefix(2).joined(separator: " ") }

    /// Returns the value of a field; nil without it.
    func value(of name: String) -> String? {
        self.head.split(separator: "\r\n").lazy.map { $0.split(separator: ":", maxSplits: 1) }
            .first { $0.first?.lowercased() == name.lowercased() }
            .map { $0.count > 1 ? $0[1].trimmingCharacters(in: .whitespaces) : "" }
    }

    /// Answers with a whole response.
    func answer(_ status: String, _ fields: [String] = [], body: String = "") {
        self.peer.write(
            "HTTP/1.1 \(status)\r\n" + fields.map { "\($0)\r\n" }.joined()
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    /// Begins an event stream, which ends with the connection.
    func openStream(_ text: String = "", _ fields: [String] = []) {
        self.peer.write(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n"
                + text)
    }

    /// Answers with an event stream that is over.
    func stream(_ text: String) {
        self.openStream(text)
        self.peer.close()
    }
}

extension RawServer {
    /// The address for an event source.
    var eventsURL: URL { get throws { try #require(URL(string: "http://127.0.0.1:\(self.port)/events?x=1")) } }

    /// Accepts the next connection, and reads the head of its request.
    func request() async throws -> ReceivedRequest {
        let peer = try await self.accept()
        return ReceivedRequest(peer: peer, head: await peer.read(until: "\r\n\r\n"))
    }
}

/// The events and the end that a program has got from an event source.
struct EventSourceOutcome: Sendable {
    let events: [ServerSentEvent]
    let error: (any Error)?

    /// The data of the events.
    var data: [String] { self.events.map(\.data) }
    /// The tag of the error.
    var tag: String? { (self.error as? EventSourceError)?.tag }
}

extension EventSource {
    /// Creates an event source that connects directly, and reconnects without a delay.
    static func loopback(
        _ request: EventSourceRequest, _ change: (inout EventSourceConfiguration) -> Void = { _ in }
    ) -> EventSource {
        var configuration = EventSourceConfiguration()
        configuration.proxy = .none
        configuration.reconnection.reconnectionTime = .zero
        configuration.reconnection.backoff = .zero
        change(&configuration)
        return EventSource(request, configuration: configuration)
    }

    /// Creates an event source for a GET.
    static func loopback(
        _ url: URL, _ change: (inout EventSourceConfiguration) -> Void = { _ in }
    ) -> EventSource {
        Self.loopback(EventSourceRequest(url: url), change)
    }

    /// Reads to the end, in a task of its own.
    func reading() -> Task<EventSourceOutcome, Never> {
        Task {
            var events: [ServerSentEvent] = []
            do {
                for try await event in self { events.append(event) }
                return EventSourceOutcome(events: events, error: nil)
            } catch {
                return EventSourceOutcome(events: events, error: error)
            }
        }
    }
}
