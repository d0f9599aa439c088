// A session of OpenAI's Realtime API, in text, over a WebSocket.
import Foundation
import WebSocketClient

/// The reason why a question was not answered, beside those of the connection.
enum RealtimeError: Error, Equatable, CustomStringConvertible {
    /// The server reported an error, with its code if it has one.
    case refused(code: String?)
    /// The server sent a message that is no event.
    case unreadable
    /// The server closed the connection before the answer was complete.
    case closed

    /// The problem in words; of the server's code, whatever may be in a name.
    var description: String {
        switch self {
        case .refused(let code?): "The server reports an error: \(code.filter { $0.isLetter || $0 == "_" })."
        case .refused(nil): "The server reports an error."
        case .unreadable: "The server sent a message that is no event."
        case .closed: "The server closed the connection before the answer was complete."
        }
    }
}

/// One conversation, which the server keeps as long as the connection is open.
///
/// For one task at a time. When the connection is lost, so is the conversation: a program that goes on opens another
/// session, and adds the items of the conversation again.
struct RealtimeSession: Sendable {
    private let connection: WebSocketConnection

    /// Opens a session; `key` is a bearer token or nil for none.
    ///
    /// Throws `WebSocketError`, `RealtimeError`, and `CancellationError` when the task is cancelled.
    init(url: URL, key: String?, instructions: String) async throws {
        var configuration = WebSocketConfiguration(url: url)
        if let key { configuration.additionalFields = [(name: "Authorization", value: "Bearer \(key)")] }
        // Events of a conversation in text have some kilobytes. One with audio needs the default.
        configuration.limits.messageByteCount = 1 << 20
        self.connection = try await WebSocketConnection.open(configuration)
        _ = try await self.event(of: "session.created")
        try await self.send(.updateSession(instructions: instructions))
        _ = try await self.event(of: "session.updated")
    }

    /// Asks a question, and passes on the pieces of the answer; returns the response's status, such as `completed`.
    ///
    /// An answer of more characters is cancelled at the server, as its output is paid for whether it is read or not.
    /// The server is read no faster than `show` returns.
    func answer(to question: String, atMost limit: Int, _ show: (String) -> Void) async throws -> String {
        try await self.send(.addMessage(question))
        try await self.send(.createResponse)
        var room = limit
        while true {
            let event = try await self.nextEvent()
            switch event.type {
            case "response.output_text.delta":
                guard room > 0, let delta = event.delta else { continue }
                show(String(delta.prefix(room)))
                room -= delta.count
                if room <= 0 { try await self.send(.cancelResponse) }
            case "response.done": return event.response?.status ?? "completed"
            // A response that ended before its cancellation arrived is no error.
            case "error" where event.error?.eventID != ClientEvent.cancellationID:
                throw RealtimeError.refused(code: event.error?.code)
            // The others are for programs that show more, and so are events that a later version of the protocol adds.
            default: continue
            }
        }
    }

    /// Ends the session.
    func close() async throws { try await self.connection.close() }

    // MARK: Events

    /// Returns the first event of a type.
    private func event(of type: String) async throws -> ServerEvent {
        while true {
            let event = try await self.nextEvent()
            if event.type == type { return event }
            if event.type == "error" { throw RealtimeError.refused(code: event.error?.code) }
        }
    }

    private func nextEvent() async throws -> ServerEvent {
        guard let message = try await self.connection.receive() else { throw RealtimeError.closed }
        // Every event of the protocol is text.
        guard case .text(let text) = message,
            let event = try? JSONDecoder().decode(ServerEvent.self, from: Data(text.utf8))
        else { throw RealtimeError.unreadable }
        return event
    }

    private func send(_ event: ClientEvent) async throws {
        try await self.connection.send(String(decoding: JSONEncoder().encode(event), as: UTF8.self))
    }
}
