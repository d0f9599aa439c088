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
        /// The server has accepted it: its input is the server's, and goes into a successor of the response.
        case accepted
        /// The server keeps it for the request that continues the response.
        case pending
    }

    /// One steering that is neither committed nor refused.
    private struct Entry {
        let items: [[UInt8]]
        var progress: Progress = .sent
        /// The server's name for it.
        var id: String?
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

        /// Returns the position of the steering that an answer is about: the one with its identifier, or the oldest
        /// unanswered one; an answer to none of them may be about one that has no identifier.
        func index(of id: String?) -> Int? {
            if let id, let index = self.entries.firstIndex(where: { $0.id == id }) { return index }
            return self.entries.firstIndex { $0.progress == .sent }
                ?? self.entries.firstIndex { $0.progress == .accepted && ($0.id == nil || id == nil) }
        }

        mutating func advance(_ index: Int?, _ id: String?, to progress: Progress) {
            guard let index else { return }
            self.entries[index].progress = progress
            self.entries[index].id = id ?? self.entries[index].id
        }

        /// The items of the steerings of a progress, in order.
        func items(_ progress: Progress) -> [[UInt8]] {
            self.entries.filter { $0.progress == progress }.flatMap(\.items)
        }
    }

    /// The input that a response leaves behind, in order.
    struct Remains {
        /// The server keeps it for the request that continues the response.
        let pending: [[UInt8]]
        /// The server has accepted it, and no response has come for it.
        let unanswered: [[UInt8]]
        /// Indicates whether there was input that the server has not answered at all.
        let hasUnknown: Bool
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

    /// Indicates whether a steering is neither committed nor refused nor pending: then the turn does not end, and a
    /// later one cannot use the connection.
    var isOpen: Bool { self.state.withLock { $0.entries.contains { $0.progress != .pending } } }

    /// Records the server's answer to a steering.
    func answered(_ answer: SteeringMessage.Answer) {
        self.state.withLock { state in
            switch answer {
            // The server answers in the order of submission.
            case .accepted(let id): state.advance(state.entries.firstIndex { $0.progress == .sent }, id, to: .accepted)
            // Some servers send this in place of `accepted`.
            case .pending(let id): state.advance(state.index(of: id), id, to: .pending)
            case .failed(let id, _): if let index = state.index(of: id) { state.entries.remove(at: index) }
            }
        }
    }

    /// Records that the server has ended the response early for added input, of which then none waits for a request.
    ///
    /// - Returns: whether there is any, so that a successor follows.
    func endedResponse() -> Bool {
        self.state.withLock { state in
            for index in state.entries.indices where state.entries[index].progress == .pending {
                state.entries[index].progress = .accepted
            }
            return !state.entries.isEmpty
        }
    }

    /// Records that the response has ended, and that another one may follow by itself, which has no name yet.
    func responseEnded() {
        self.state.withLock { state in
            if let connection = state.target.connection { state.target = .unnamed(connection) }
        }
    }

    /// Records that a successor of the response has begun, which commits what the server has accepted.
    ///
    /// A server that did not answer has accepted the oldest.
    /// - Returns: the items of its input, in order.
    func committed() -> [[UInt8]] {
        self.state.withLock { state in
            let items = state.items(.accepted)
            state.entries.removeAll { $0.progress == .accepted }
            guard items.isEmpty, let index = state.entries.firstIndex(where: { $0.progress == .sent }) else {
                return items
            }
            return state.entries.remove(at: index).items
        }
    }

    /// The input that the response leaves when the turn is complete; it stays recorded, as `isOpen` depends on it.
    var remains: Remains {
        self.state.withLock { state in
            Remains(
                pending: state.items(.pending), unanswered: state.items(.accepted),
                hasUnknown: state.entries.contains { $0.progress == .sent })
        }
    }
}
