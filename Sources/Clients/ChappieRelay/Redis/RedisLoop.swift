import LibwebsocketsTransport
import PlatformC
import StreamTransport

/// The thread of a journal's two connections: one for requests, which are pipelined, and one for messages.
///
/// Its methods may be called from any task; everything behind the mailbox belongs to the thread. It sleeps in `poll`
/// while nothing happens, and ends with `shutdown()`.
final class RedisLoop: Sendable {
    enum Input: Sendable {
        case request([UInt8], CheckedContinuation<RESPValue, any Error>)
        case listen(String, CheckedContinuation<Void, any Error>)
        case endListening(String)
        case found(Result<[String], TransportFailure>?, forMessages: Bool, attempt: Int)
        case shutDown(CheckedContinuation<Void, Never>?)
    }

    private struct Mailbox {
        var inputs: [Input] = []
        var isClosed = false
    }

    private let mailbox = LockedValue(Mailbox())
    private let pipe: WakePipe
    let place: String

    /// Starts the thread, which connects with the first request and calls `onChange` with the channel of each message.
    init(
        address: RedisAddress, tls: ChappieTLSPolicy?, settings: RedisLink.Settings,
        onChange: @escaping @Sendable (String) -> Void
    ) throws(ChappieJournalError) {
        guard let pipe = WakePipe() else { throw .unavailable("this process has no file descriptor left") }
        self.pipe = pipe
        self.place = address.place
        let hasStarted = SystemThread.startDetached {
            RedisDriver(loop: self, address: address, tls: tls, settings: settings, onChange: onChange).run()
        }
        guard hasStarted else {
            pipe.close()
            throw .unavailable("this process can have no other thread")
        }
    }

    /// Sends a request and returns its answer; a refusal of the server is an answer too.
    ///
    /// The request may reach the server more than once. Throws `unavailable`.
    func answer(to command: RESPCommand) async throws -> RESPValue {
        try await withCheckedThrowingContinuation { continuation in
            if !self.post(.request(command.bytes, continuation)) { continuation.resume(throwing: Self.isShutDown) }
        }
    }

    /// Listens to a channel: no message is missed from its return on.
    func listen(to channel: String) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            if !self.post(.listen(channel, continuation)) { continuation.resume(throwing: Self.isShutDown) }
        }
    }

    /// Ends one `listen(to:)` that did not throw.
    func endListening(to channel: String) { _ = self.post(.endListening(channel)) }

    /// Ends the connections and the thread; what waits throws `unavailable`.
    func shutdown() async {
        await withCheckedContinuation { continuation in
            if !self.post(.shutDown(continuation)) { continuation.resume() }
        }
    }

    /// The same, without waiting for it.
    func stop() { _ = self.post(.shutDown(nil)) }

    private static let isShutDown = ChappieJournalError.unavailable("it was shut down")

    /// Gives the thread an input; returns false when there is no thread any more.
    func post(_ input: Input) -> Bool {
        self.mailbox.withLock { mailbox in
            guard !mailbox.isClosed else { return false }
            mailbox.inputs.append(input)
            // Under the lock, so that the pipe is not closed meanwhile.
            if mailbox.inputs.count == 1 { self.pipe.wake() }
            return true
        }
    }

    // MARK: The thread's side

    var wakeDescriptor: CInt { self.pipe.reader }

    func takeInputs() -> [Input] {
        self.pipe.drain()
        return self.mailbox.withLock { mailbox in
            defer { mailbox.inputs = [] }
            return mailbox.inputs
        }
    }

    /// Refuses further inputs; returns those that were not handled.
    func close() -> [Input] {
        self.mailbox.withLock { mailbox in
            mailbox.isClosed = true
            self.pipe.close()
            defer { mailbox.inputs = [] }
            return mailbox.inputs
        }
    }
}

/// The loop of a journal's thread.
private final class RedisDriver {
    private let loop: RedisLoop
    private let onChange: @Sendable (String) -> Void
    private let requests: RedisConnection
    private let messages: RedisConnection
    private var subscriptions = RedisSubscriptions()
    private var answers: [UInt64: CheckedContinuation<RESPValue, any Error>] = [:]
    private var listeners: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    private var lastNumber: UInt64 = 0
    private var closing: [CheckedContinuation<Void, Never>] = []
    private var isShutDown = false

    init(
        loop: RedisLoop, address: RedisAddress, tls: ChappieTLSPolicy?, settings: RedisLink.Settings,
        onChange: @escaping @Sendable (String) -> Void
    ) {
        let memory = RedisConnection.Memory(tls: tls)
        var forMessages = settings
        forMessages.purpose = .messages
        self.loop = loop
        self.onChange = onChange
        self.requests = RedisConnection(address: address, settings: settings, memory: memory)
        self.messages = RedisConnection(address: address, settings: forMessages, memory: memory)
    }

    func run() {
        while !self.isShutDown {
            self.wait()
            for input in self.loop.takeInputs() { self.handle(input) }
            self.passTime()
            self.perform()
        }
        for input in self.loop.close() { self.handle(input) }
        self.perform()
        for continuation in self.closing { continuation.resume() }
    }

    /// Sleeps until something happens, and handles what the sockets are ready for.
    private func wait() {
        var descriptors = [pollfd(fd: self.loop.wakeDescriptor, events: Int16(POLLIN), revents: 0)]
        let connections = [self.requests, self.messages].filter { $0.awaited != nil }
        for connection in connections {
            guard let (descriptor, events) = connection.awaited else { continue }
            descriptors.append(pollfd(fd: descriptor, events: events, revents: 0))
        }
        guard poll(&descriptors, nfds_t(descriptors.count), self.millisecondsUntilDeadline) > 0 else { return }
        for (connection, descriptor) in zip(connections, descriptors.dropFirst()) where descriptor.revents != 0 {
            connection.ready(descriptor.revents)
        }
    }

    /// The time until something is due, rounded up; -1 for none.
    private var millisecondsUntilDeadline: CInt {
        let deadlines = [self.requests.link.deadline, self.messages.link.deadline, self.subscriptions.deadline]
        guard let next = deadlines.compactMap({ $0 }).min() else { return -1 }
        let milliseconds = ((next - .now) / .milliseconds(1)).rounded(.up)
        return CInt(min(max(0, milliseconds), 60_000))
    }

    private func passTime() {
        let now = ContinuousClock.now
        for connection in [self.requests, self.messages] {
            connection.input { $0.timePassed(at: now, fraction: .random(in: 0...1)) }
        }
        self.subscriptions.timePassed(at: now)
    }

    private func handle(_ input: RedisLoop.Input) {
        let now = ContinuousClock.now
        switch input {
        case .request(let bytes, let continuation):
            self.lastNumber += 1
            self.answers[self.lastNumber] = continuation
            self.requests.input { $0.submit(bytes, id: self.lastNumber, at: now) }
        case .listen(let channel, let continuation):
            self.lastNumber += 1
            self.listeners[self.lastNumber] = continuation
            self.subscriptions.add(channel, listener: self.lastNumber, at: now)
            if self.isShutDown { self.subscriptions.shutDown() }
        case .endListening(let channel): self.subscriptions.remove(channel, at: now)
        case .found(let answer, let isForMessages, let attempt):
            (isForMessages ? self.messages : self.requests).found(answer, attempt: attempt)
        case .shutDown(let continuation):
            if let continuation { self.closing.append(continuation) }
            self.isShutDown = true
            self.subscriptions.shutDown()
            for connection in [self.requests, self.messages] { connection.input { $0.shutDown() } }
        }
    }

    // MARK: Actions

    private func perform() {
        var isDone = false
        while !isDone {
            isDone = true
            self.messages.input { $0.want(self.subscriptions.isNeeded && !self.isShutDown, at: .now) }
            for action in self.requests.perform() + self.messages.perform() {
                self.perform(action)
                isDone = false
            }
            for action in self.subscriptions.takeActions() {
                self.perform(action)
                isDone = false
            }
        }
        self.startLookup(of: self.requests, forMessages: false)
        self.startLookup(of: self.messages, forMessages: true)
    }

    private func perform(_ action: RedisLink.Action) {
        switch action {
        case .answer(let request, let value): self.answers.removeValue(forKey: request)?.resume(returning: value)
        case .fail(let request, let reason):
            self.answers.removeValue(forKey: request)?.resume(throwing: self.failure(reason))
        case .opened: self.subscriptions.opened()
        case .message(let value): self.subscriptions.received(value)
        case .closed: self.subscriptions.closed()
        case .openingFailed(let reason): self.subscriptions.openingFailed(reason)
        case .connect, .disconnect, .write: break
        }
    }

    private func perform(_ action: RedisSubscriptions.Action) {
        switch action {
        case .write(let bytes): self.messages.input { $0.write(bytes) }
        case .begin(let listener): self.listeners.removeValue(forKey: listener)?.resume()
        case .fail(let listener, let reason):
            self.listeners.removeValue(forKey: listener)?.resume(throwing: self.failure(reason))
        case .changed(let channel): self.onChange(channel)
        }
    }

    private func failure(_ reason: String) -> ChappieJournalError { .unavailable("\(self.loop.place): \(reason)") }

    private func startLookup(of connection: RedisConnection, forMessages: Bool) {
        guard let lookup = connection.takeLookup() else { return }
        let loop = self.loop
        // Behind the link's own limit, so that it is the link that tells.
        Task {
            let answer = await AddressLookup.addresses(of: lookup.host, within: .seconds(60))
            _ = loop.post(.found(answer, forMessages: forMessages, attempt: lookup.attempt))
        }
    }
}
