// The queries of a scripted transport in tests of races, resumptions and retries.

import StreamTransport

@testable import ChappieTransport

extension TurnFixture {
    /// The number of requests for a response that were sent, over all connections: messages, released POSTs, and POSTs
    /// and GETs that were not held.
    var sentRequestCount: Int {
        zip(self.transport.requests, self.transport.connections).reduce(0) { count, pair in
            let (request, connection) = pair
            let sent = connection.calls.count { call in
                switch call {
                case .send, .release: true
                case .ping, .close, .fail, .cancel: false
                }
            }
            return count + sent + (request.isWebSocket || request.isHeld ? 0 : 1)
        }
    }

    /// The calls of one connection.
    func calls(_ index: Int) -> [ScriptedConnection.Call] { self.transport.connections[index].calls }

    /// The start of each connection, relative to the first one's.
    var connectionStarts: [Duration] {
        let connections = self.transport.connections
        return connections.map { $0.start - connections[0].start }
    }
}

extension TransportRequest {
    /// Indicates whether it requests a WebSocket.
    var isWebSocket: Bool {
        guard case .webSocket = self.exchange else { return false }
        return true
    }

    /// The body of a POST as text; nil for a GET.
    var body: String? {
        guard case .post(let body) = self.exchange else { return nil }
        return String(decoding: body, as: UTF8.self)
    }

    /// Indicates whether it is a GET other than an upgrade to a WebSocket.
    var isResumption: Bool {
        guard case .get = self.exchange else { return false }
        return true
    }

    /// The value of a field.
    func value(of name: String) -> String? { self.fields.first { $0.name == name }?.value }
}

extension ScriptedConnection {
    /// The messages that were sent.
    var messages: [String] {
        self.calls.compactMap { call in
            guard case .send(let message, .text) = call else { return nil }
            return message
        }
    }
}

extension [ScriptStep] {
    /// A held POST whose connection is established after a while, and whose answer comes after another.
    static func held(
        readyAfter ready: Duration = .zero, answerAfter answer: Duration = .zero, _ events: String...
    ) -> Self {
        [.pause(ready), .ready, .request, .pause(answer)]
            + [.opened(200, fields: ["content-type": "text/event-stream"])] + events.map { .body(Event.sse($0)) }
            + [.ended(.complete)]
    }

    /// A script that begins later.
    func after(_ duration: Duration) -> Self { [.pause(duration)] + self }
}
