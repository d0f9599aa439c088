// `connection-cost --peer messages TASK`: messages of `WebSocketClient`, in a task of Benchmarks/Peers/end_to_end.py.
import CStreamScript
import WebSocketClient

/// Responses of a server that another program has started, read by an interface of `WebSocketClient`.
///
/// It reads one stream over a plain WebSocket, without JSON. As in `stream_peers.py`, the clock starts when the
/// WebSocket is open and the request is not yet sent, and a run is the largest response that can be read in its time.
struct PeerMessages {
    /// The interface, by its name on the command line.
    enum Kind: String {
        /// `for try await` over the messages, each with a string of its own.
        case messages
        /// `withNextMessage(_:)`, which lends the bytes.
        case borrowedMessages = "borrowed-messages"
    }

    let kind: Kind

    /// Chooses a response, reads it once with a check of every byte, and then for time.
    func answer(_ task: PeerTask) async throws -> PeerAnswer {
        guard var chosen = task.sizes.first, task.streamCount == 1 else {
            throw UsageError("--peer: messages are read from one stream")
        }
        // A pass before all others fills caches.
        _ = try await self.read(chosen)
        for size in task.sizes.dropFirst() {
            let elapsed = try await self.read(chosen).wall
            if elapsed * Double(size.deltaCount) / Double(chosen.deltaCount) > task.seconds { break }
            chosen = size
        }
        _ = try await self.read(chosen, isThorough: true)
        var runs: [PeerAnswer.Run] = []
        for _ in 0..<task.runCount {
            let times = try await self.read(chosen)
            runs.append(.init(seconds: times.wall, processorSeconds: times.processor))
        }
        var answer = PeerAnswer()
        (answer.deltaCount, answer.runs) = (chosen.deltaCount, runs)
        return answer
    }

    /// Reads a response and checks it: the number and the length of its messages, and, when it `isThorough`, each byte.
    private func read(_ size: PeerTask.Size, isThorough: Bool = false) async throws -> RunTimes {
        let connection = try await WebSocketConnection.open(.benchmark(port: size.port))
        defer { connection.cancel() }
        var tally = MessageTally(deltaCount: size.deltaCount, isThorough: isThorough)
        let times = try await RunTimes {
            try await connection.send(ClientReader.request)
            switch self.kind {
            case .messages: try await Self.readMessages(of: connection, &tally)
            case .borrowedMessages: try await Self.borrowMessages(of: connection, &tally)
            }
        }
        try tally.check()
        return times
    }

    private static func readMessages(of connection: WebSocketConnection, _ tally: inout MessageTally) async throws {
        for try await message in connection.messages {
            guard case .text(let text) = message else { throw WrongResultError("a message is not text") }
            tally.take(text)
            if tally.isComplete { break }
        }
    }

    private static func borrowMessages(of connection: WebSocketConnection, _ tally: inout MessageTally) async throws {
        while !tally.isComplete {
            guard try await connection.withNextMessage({ tally.take($1) }) != nil else { break }
        }
    }
}

/// The messages of one response: the first, the deltas, and the last.
private struct MessageTally {
    private let deltaCount: Int
    private let isThorough: Bool
    private var count = 0
    private var byteCount = 0
    private var differentCount = 0

    init(deltaCount: Int, isThorough: Bool) { (self.deltaCount, self.isThorough) = (deltaCount, isThorough) }

    /// Indicates whether every message was taken.
    var isComplete: Bool { self.count == self.deltaCount + 2 }

    @inline(__always)
    mutating func take(_ text: String) {
        self.byteCount += text.utf8.count
        if self.isThorough {
            var text = text
            text.withUTF8 { self.compare(UnsafeRawBufferPointer($0)) }
        }
        self.count += 1
    }

    @inline(__always)
    mutating func take(_ bytes: RawSpan) {
        self.byteCount += bytes.byteCount
        if self.isThorough { bytes.withUnsafeBytes { self.compare($0) } }
        self.count += 1
    }

    private mutating func compare(_ bytes: UnsafeRawBufferPointer) {
        if !bytes.elementsEqual(self.expected) { self.differentCount += 1 }
    }

    /// The bytes of the next message.
    private var expected: [UInt8] {
        if self.count == 0 { return Array(String(cString: css_created()).utf8) }
        if self.count > self.deltaCount { return Array(String(cString: css_completed()).utf8) }
        let number = UInt64(self.count - 1)
        return Array(unsafeUninitializedCapacity: Int(CSS_MESSAGE_SIZE)) { bytes, count in
            css_message(number, bytes.baseAddress)
            count = Int(CSS_MESSAGE_SIZE)
        }
    }

    /// Throws unless the messages are those that the server has sent.
    func check() throws {
        let isRight =
            self.isComplete && self.byteCount == ExpectedMessages.byteCount(deltaCount: self.deltaCount)
            && self.differentCount == 0
        guard isRight else { throw WrongResultError("the response is not what the server has sent: \(self)") }
    }
}
