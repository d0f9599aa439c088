import ResponseEvents
import StreamTransport

/// The steering of a turn: items that are added to the response that is being made.
///
/// `steer`, `cancel` and `refusal` may be called from any task; the rest belongs to the turn's driver.
final class Steering: Sendable {
    /// The response that can be steered now.
    private enum Target {
        /// No response is being made.
        case none
        /// The response on this connection has no name yet.
        case unnamed(any TransportConnection)
        /// The response comes over HTTP, where none can be steered.
        case http
        /// This response, on this connection.
        case response(id: String, connection: any TransportConnection)

        /// The WebSocket of the response; nil when there is none.
        var connection: (any TransportConnection)? {
            switch self {
            case .unnamed(let connection), .response(_, let connection): connection
            case .none, .http: nil
            }
        }
    }

    /// The progress of one steering.
    private enum Progress {
        case sent
        /// The server has accepted it, for this response or for the next request.
        case accepted
    }

    /// One steering that the server has not settled.
    private struct Entry {
        let items: [[UInt8]]
        var progress: Progress = .sent
    }

    private struct State {
        var target = Target.none
        var isCancelled = false
        var isUsed = false
        var entries: [Entry] = []
        var refusal: (any Error)?

        /// Returns the response and the connection that can be steered.
        func running() throws(ChappieSteeringError) -> (id: String, connection: any TransportConnection) {
            guard !self.isCancelled else { throw .notRunning }
            switch self.target {
            case .none: throw .notRunning
            case .unnamed: throw .notCreated
            case .http: throw .notOverWebSocket
            case .response(let id, let connection): return (id, connection)
            }
        }

        /// Records that the server has accepted the oldest unanswered steering.
        mutating func accepted() {
            guard let index = self.entries.firstIndex(where: { $0.progress == .sent }) else { return }
            self.entries[index].progress = .accepted
        }

        /// Records that the server has refused a steering: it is no part of this response, nor of another.
        mutating func refused() {
            let index = self.entries.firstIndex { $0.progress == .sent } ?? self.entries.indices.first
            if let index { self.entries.remove(at: index) }
        }
    }

    private let state = LockedValue(State())

    // MARK: From any task

    /// Adds items to the response that is being made.
    ///
    /// A program that examines requests is asked first, and the message is sent when it has agreed, if the response
    /// still runs then.
    /// - Parameters:
    ///   - input: a JSON array of items.
    ///   - permission: the permission of the turn's request.
    ///   - attempt: the number of the current attempt.
    ///   - refused: ends the turn, because the program has not permitted the message; `refusal` has its error.
    /// - Throws: `ChappieSteeringError` when no response can be steered; no message is sent then.
    func steer(
        _ input: [UInt8], _ permission: SendingPermission, attempt: Int, refused: @escaping @Sendable () -> Void
    ) throws {
        guard let items = SteeringMessage.items(of: input), input.count < RequestBodies.messageByteCountLimit else {
            throw ChappieSteeringError.invalidInput
        }
        let responseID = try self.state.withLock { try $0.running().id }
        let message = SteeringMessage.json(previousResponseID: responseID, input: input)
        guard let question = permission.question(about: message, attempt: attempt) else {
            return try self.send(message, items, to: responseID)
        }
        Task {
            do {
                try await question()
                try self.send(message, items, to: responseID)
            } catch is ChappieSteeringError {
                // The response was over before the program had agreed.
            } catch {
                self.state.withLock { $0.refusal = ChappieClientError.refusal(error) }
                refused()
            }
        }
    }

    /// The error of the program when it did not permit a steering; nil otherwise.
    var refusal: (any Error)? { self.state.withLock { $0.refusal } }

    /// Ends steering for good: the turn is cancelled, whatever its driver still does.
    func cancel() { self.state.withLock { $0.isCancelled = true } }

    private func send(_ message: [UInt8], _ items: [[UInt8]], to responseID: String) throws {
        let connection = try self.state.withLock { state in
            let running = try state.running()
            guard running.id == responseID else { throw ChappieSteeringError.notRunning }
            state.isUsed = true
            state.entries.append(Entry(items: items))
            return running.connection
        }
        connection.send(message, as: .text)
    }

    // MARK: The driver

    /// Records that a response is being made that has no name yet, over a transport, on this connection.
    func begin(over transport: ChappieTransportKind, on connection: any TransportConnection) {
        self.state.withLock { $0.target = transport == .webSocket ? .unnamed(connection) : .http }
    }

    /// Records the response's name: over a WebSocket it can be steered from now on.
    func named(_ responseID: String) {
        self.state.withLock { state in
            guard let connection = state.target.connection else { return }
            state.target = .response(id: responseID, connection: connection)
        }
    }

    /// Ends the steering of the response.
    ///
    /// - Returns: whether it was steered: then the request must not be sent again.
    func end() -> Bool {
        self.state.withLock { state in
            state.target = .none
            return state.isUsed
        }
    }

    /// Indicates whether items were ever sent.
    var isUsed: Bool { self.state.withLock { $0.isUsed } }

    /// Indicates whether the server still has to answer a steering: then a later turn cannot use the connection.
    var isOpen: Bool { self.state.withLock { !$0.entries.isEmpty } }

    /// Records the server's answer to the oldest unanswered steering.
    func answered(_ answer: SteeringMessage.Answer) {
        self.state.withLock { state in
            switch answer {
            case .accepted: state.accepted()
            // Some servers send this in place of `accepted`.
            case .pending: if !state.entries.contains(where: { $0.progress == .accepted }) { state.accepted() }
            case .failed: state.refused()
            }
        }
    }

    /// The items that the server has accepted and not used when the response is complete, in order, and whether there
    /// are others, which it has not accepted.
    ///
    /// The connection is not used again, so they go with the next request. The server still has to answer them.
    var unused: (items: [[UInt8]], hasOthers: Bool) {
        self.state.withLock { state in
            let taken = state.entries.filter { $0.progress == .accepted }
            return (taken.flatMap(\.items), taken.count < state.entries.count)
        }
    }

    /// Records that the response has ended because it was steered, and another one follows, which has no name yet.
    ///
    /// A server that did not answer has accepted the oldest.
    /// - Returns: the items that it has used, in order.
    func takeUsed() -> [[UInt8]] {
        self.state.withLock { state in
            if let connection = state.target.connection { state.target = .unnamed(connection) }
            var used = state.entries.filter { $0.progress == .accepted }
            state.entries.removeAll { $0.progress == .accepted }
            if used.isEmpty, !state.entries.isEmpty { used = [state.entries.removeFirst()] }
            return used.flatMap(\.items)
        }
    }
}
