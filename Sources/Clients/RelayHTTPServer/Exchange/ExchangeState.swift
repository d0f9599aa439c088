// The decisions of an exchange about what its program may send and what it has received. No I/O.
// The owner is the lock of its `HTTPExchange`.

import WebSocketProtocol

/// The state of an exchange that any thread changes.
struct ExchangeState: Sendable {
    /// The answer so far.
    enum Phase: Sendable {
        /// None.
        case unanswered
        /// A streaming response, whose end was not posted.
        case streaming
        /// A WebSocket that is not being closed by this side.
        case webSocket
        /// The end of the answer was posted.
        case answered
    }

    /// The callbacks that the end of an exchange calls.
    struct EndCallbacks {
        /// Those that wait for room or for a message.
        var waiting: [@Sendable () -> Void]
        /// Those that wait for the end.
        var ending: [@Sendable (HTTPExchange.End) -> Void]
    }

    /// The result of taking a message.
    enum TakenMessage {
        /// A message, and whether reading goes on that had stopped.
        case message(String, resumesReading: Bool)
        /// The exchange has ended, and every message was taken.
        case ended
        /// There is none yet.
        case none
    }

    private let limits: ExchangeLimits
    private var phase: Phase = .unanswered
    private(set) var end: HTTPExchange.End?
    private var outputs: [ExchangeOutput] = []
    /// Indicates whether the service thread was told about outputs that it has not taken.
    private var isPosted = false
    /// The cost of everything that was accepted, and was not handed to the system.
    private var bufferedCost = 0
    private var writableCallbacks: [@Sendable () -> Void] = []
    private var endCallbacks: [@Sendable (HTTPExchange.End) -> Void] = []
    private var messages: [String] = []
    private var takenCount = 0
    private var inboxByteCount = 0
    /// Indicates whether no more is read until messages are taken.
    private var isReadingPaused = false
    private var messageCallback: (@Sendable () -> Void)?
    private(set) var pongCallback: (@Sendable ([UInt8]) -> Void)?

    init(limits: ExchangeLimits) { self.limits = limits }

    /// Indicates whether no answer was begun.
    var isUnanswered: Bool {
        if case .unanswered = self.phase { true } else { false }
    }

    // MARK: Outputs

    /// Begins the answer; returns the reason why it cannot, and whether the service thread has to be told.
    mutating func answer(with output: ExchangeOutput, as phase: Phase) -> (HTTPExchange.Failure?, isNews: Bool) {
        guard self.end == nil else { return (.ended, false) }
        guard self.isUnanswered else { return (.alreadyAnswered, false) }
        self.phase = phase
        return (nil, self.post(output))
    }

    /// Takes bytes to be sent; returns whether the service thread has to be told.
    mutating func offer(_ bytes: [UInt8]) -> (HTTPExchange.Acceptance, isNews: Bool) {
        guard self.end == nil else { return (.ended, false) }
        switch self.phase {
        case .unanswered, .answered: return (.ended, false)
        case .streaming where bytes.isEmpty: return (.accepted, false)
        case .streaming, .webSocket: break
        }
        guard self.bufferedCost < self.limits.bufferedByteCount else { return (.full, false) }
        return (.accepted, self.post(.bytes(bytes)))
    }

    /// Ends the streaming response; returns whether the service thread has to be told.
    mutating func finish() -> Bool {
        guard self.end == nil, case .streaming = self.phase else { return false }
        self.phase = .answered
        return self.post(.end)
    }

    /// Closes the WebSocket; returns whether the service thread has to be told.
    mutating func close(with frame: CloseFrame) -> Bool {
        guard self.end == nil, case .webSocket = self.phase else { return false }
        self.phase = .answered
        return self.post(.close(frame))
    }

    /// Sends a ping, unless there is no WebSocket or its buffer is full; returns whether the service thread has to be
    /// told.
    mutating func ping(_ payload: [UInt8]) -> Bool {
        guard self.end == nil, case .webSocket = self.phase, self.bufferedCost < self.limits.bufferedByteCount else {
            return false
        }
        return self.post(.ping(payload))
    }

    private mutating func post(_ output: ExchangeOutput) -> Bool {
        self.outputs.append(output)
        self.bufferedCost += output.cost
        defer { self.isPosted = true }
        return !self.isPosted
    }

    /// Takes everything that was posted.
    mutating func takeOutputs() -> [ExchangeOutput] {
        self.isPosted = false
        let outputs = self.outputs
        self.outputs = []
        return outputs
    }

    /// Notes that output of this cost waits no longer; returns the callbacks that are due.
    mutating func sent(cost: Int) -> [@Sendable () -> Void] {
        self.bufferedCost = max(0, self.bufferedCost - cost)
        guard self.isWritable, !self.writableCallbacks.isEmpty else { return [] }
        let callbacks = self.writableCallbacks
        self.writableCallbacks = []
        return callbacks
    }

    /// Half of the buffer is free, so that a slow reader does not wake its writer for every few bytes.
    private var isWritable: Bool { self.bufferedCost <= self.limits.bufferedByteCount / 2 }

    /// Keeps a callback; returns true in its place when it is due.
    mutating func addWritableCallback(_ callback: @escaping @Sendable () -> Void) -> Bool {
        guard self.end == nil, !self.isWritable else { return true }
        self.writableCallbacks.append(callback)
        return false
    }

    // MARK: Messages

    /// Takes the next message that was received.
    mutating func takeMessage() -> TakenMessage {
        guard self.takenCount < self.messages.count else { return self.end == nil ? .none : .ended }
        let text = self.messages[self.takenCount]
        // Its place is freed with others, its memory now.
        self.messages[self.takenCount] = ""
        self.takenCount += 1
        self.releaseTaken()
        self.inboxByteCount -= text.utf8.count + ExchangeOutput.overhead
        // At half of the limit, as for output: each time, all bytes that were received meanwhile are looked at.
        let resumes = self.isReadingPaused && self.inboxByteCount <= self.limits.inboxByteCount / 2
        if resumes { self.isReadingPaused = false }
        return .message(text, resumesReading: resumes)
    }

    /// Frees the places of messages that were taken, each at a constant cost.
    private mutating func releaseTaken() {
        if self.takenCount == self.messages.count {
            (self.messages, self.takenCount) = ([], 0)
        } else if self.takenCount >= 64, self.takenCount * 2 >= self.messages.count {
            self.messages.removeFirst(self.takenCount)
            self.takenCount = 0
        }
    }

    /// Keeps the receiver's callback; returns true in its place when there is a message, or will be none.
    mutating func setMessageCallback(_ callback: @escaping @Sendable () -> Void) -> Bool {
        guard self.end == nil, self.takenCount == self.messages.count else { return true }
        self.messageCallback = callback
        return false
    }

    /// Keeps a message; returns the callback of a waiting receiver, and whether there is room for more.
    mutating func received(_ text: String) -> (callback: (@Sendable () -> Void)?, isRoomLeft: Bool) {
        self.messages.append(text)
        self.inboxByteCount += text.utf8.count + ExchangeOutput.overhead
        let callback = self.messageCallback
        self.messageCallback = nil
        self.isReadingPaused = self.isReadingPaused || self.inboxByteCount >= self.limits.inboxByteCount
        return (callback, !self.isReadingPaused)
    }

    /// Keeps the callback for pongs.
    mutating func setPongCallback(_ callback: @escaping @Sendable ([UInt8]) -> Void) {
        if self.end == nil { self.pongCallback = callback }
    }

    // MARK: The end

    /// Keeps a callback; returns the end in its place when there is one.
    mutating func addEndCallback(_ callback: @escaping @Sendable (HTTPExchange.End) -> Void) -> HTTPExchange.End? {
        if self.end == nil { self.endCallbacks.append(callback) }
        return self.end
    }

    /// Ends the exchange; returns the callbacks, and nil when it has ended before.
    mutating func ended(_ end: HTTPExchange.End) -> EndCallbacks? {
        guard self.end == nil else { return nil }
        self.end = end
        let callbacks = EndCallbacks(
            waiting: self.writableCallbacks + [self.messageCallback].compactMap { $0 }, ending: self.endCallbacks)
        (self.writableCallbacks, self.endCallbacks) = ([], [])
        (self.messageCallback, self.pongCallback) = (nil, nil)
        (self.outputs, self.bufferedCost) = ([], 0)
        return callbacks
    }
}
