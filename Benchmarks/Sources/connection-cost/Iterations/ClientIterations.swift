// `connection-cost --iterations N+N clients WAY`: the clients beside the engine, and what they stand on, for programs
// that count instructions.

/// Reads one response by a client, with a pause before and after the passes that are counted, as `Iterations` does.
struct ClientIterations {
    /// The interface that reads, by its name on the command line.
    enum Way: String, CaseIterable {
        /// The payloads that the transport lends: the part of the path that `WebSocketClient` and the engine share.
        case payloads
        /// The same, with the check of UTF-8 that the transport leaves to its consumers (`InboundPayload.Kind.text`).
        case checkedPayloads = "checked-payloads"
        /// The events that a parser makes of such payloads: the part that `EventSource` and the engine share.
        case parsedEvents = "parsed-events"
        /// `withNextMessage(_:)` of `WebSocketClient`.
        case borrowedMessages = "borrowed-messages"
        /// `for try await` over its messages.
        case messages
        /// `for try await` over the events of `EventSource`.
        case sourceEvents = "source-events"
        /// `send(_:)` of `WebSocketClient`, whose server reads and drops messages.
        case sending

        /// Indicates whether it reads the body of an HTTP response.
        fileprivate var isOfEventStream: Bool { self == .parsedEvents || self == .sourceEvents }
    }

    let way: Way
    /// The number of passes between the pauses.
    let count: Int
    /// The number of passes before the first pause.
    let countBefore: Int

    private static let messagesPerPass = 8_192

    /// Reads or sends, and prints the passes and the messages of a pass as one line of JSON.
    func run() async throws {
        let name: String
        if self.way == .sending {
            name = try await SentMessages.run(
                before: Self.messagesPerPass * self.countBefore, count: Self.messagesPerPass * self.count)
        } else {
            name = try await self.read()
        }
        Line.print(
            #"{"workload":"\#(name) \#(self.way.rawValue)","passes":\#(self.count),"#
                + #""eventsPerPass":\#(Self.messagesPerPass)}"#)
    }

    private func read() async throws -> String {
        let wire = Wire(form: self.way.isOfEventStream ? .eventStream : .webSocket)
        let countBefore = Self.messagesPerPass * self.countBefore
        let messageCount = countBefore + Self.messagesPerPass * self.count
        let server = try StreamServer(
            .flood(messageCount: messageCount, pauseAfter: countBefore), isPinned: false)
        let pauses = Pauses(streamCount: 1, first: countBefore, last: messageCount)
        let reader = ClientReader(way: self.way, port: server.port)
        let reading = Task {
            do {
                return try await reader.read(ResponseTally(messageCount: messageCount, pauses: pauses))
            } catch {
                pauses.giveUp()
                throw error
            }
        }
        try await pauses.end(of: server)
        try await reading.value.check()
        return wire.name
    }
}

/// The messages of one response at a client, which are counted and not read: the first, the deltas, and the last.
struct ResponseTally: Sendable {
    private let messageCount: Int
    private let pauses: Pauses
    private var pause: Int
    private var count = 0
    private var byteCount = 0

    init(messageCount: Int, pauses: Pauses) {
        self.messageCount = messageCount
        self.pauses = pauses
        // Behind the first message, which is no delta.
        self.pause = pauses.first + 1
    }

    /// Indicates whether every message was taken.
    var isComplete: Bool { self.count == self.messageCount + 2 }

    /// Takes a message.
    @inline(__always)
    mutating func take(byteCount: Int) {
        self.count += 1
        self.byteCount += byteCount
        guard self.count == self.pause else { return }
        let next = self.pauses.arrive(at: self.pause - 1)
        self.pause = next == .max ? next : next + 1
    }

    /// Throws unless the messages are those that the server has sent, by their number and length.
    func check() throws {
        let expected = ExpectedMessages.byteCount(deltaCount: self.messageCount)
        guard self.isComplete, self.byteCount == expected else {
            throw WrongResultError("\(self.count) messages of \(self.byteCount) bytes came, and not \(expected)")
        }
    }
}
