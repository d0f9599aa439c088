// A response while it is sent: its progress, and the time at which it continues.
//
// A value, owned by the connection's exchange.

/// One of the responses that a WebSocket carries at the moment.
struct RunningResponse {
    /// The next action of an exchange for a response.
    enum Next {
        /// A step.
        case step(ResponseStep)
        /// No action before the time that `wait` names.
        case later
        /// None: the response is sent.
        case over
    }

    /// The time at which a response continues.
    enum Wait: Equatable {
        /// At once.
        case none
        /// Not before a moment.
        case until(ContinuousClock.Instant)
        /// Never by itself.
        case forever
    }

    /// Input that is added to a response while it runs.
    struct Steering {
        /// The identifier that the server gave it.
        var id: String
        /// The client's message.
        var message: JSONValue

        /// Indicates whether the input is a text, or messages of the user with a text, pictures and files.
        var hasValidInput: Bool {
            guard let input = self.message["input"] else { return false }
            return input.string != nil || !input.elements.isEmpty && input.elements.allSatisfy(Self.isMessageOfUser)
        }

        private static func isMessageOfUser(_ item: JSONValue) -> Bool {
            guard case .object(let members) = item, item["role"]?.string == "user",
                ["message", nil].contains(item["type"]?.string),
                members.allSatisfy({ ["type", "role", "content"].contains($0.name) }), let content = item["content"]
            else { return false }
            return content.string != nil
                || !content.elements.isEmpty
                    && content.elements.allSatisfy {
                        ["input_text", "input_image", "input_file"].contains($0["type"]?.string)
                    }
        }
    }

    /// The response that is sent.
    let response: ResponseSource.Response
    /// The request.
    let body: JSONValue
    /// The conversation before the response.
    let conversation: Conversation
    /// The lane, as the request named it.
    let lane: String?
    /// The input that is added to the response at its next event.
    var steering: Steering?
    /// Input that waits for the end of the response, or for the outputs of its calls.
    var pendingSteering: [Steering] = []
    /// The position at which the terminal event ends in the attempt's bytes, once it is known.
    var terminalEnd = Int.max
    /// Indicates whether the terminal event reports success.
    var isComplete = false
    /// The sequence number of the next event that is not the script's.
    private(set) var nextNumber = 0
    /// The time at which the response continues.
    private(set) var wait = Wait.none

    private let steps: [ResponseStep]
    private let interval: Duration?
    private var index = 0
    private var isPaced = false
    private var cadence: WaitingCadence?
    private var sign: (sign: WaitingCadence.Sign?, instant: ContinuousClock.Instant)?

    /// The lane's name; empty for the unnamed lane.
    var laneName: String { self.lane ?? "" }

    /// The response's identifier.
    var id: String { self.response.script.identity.id }

    /// Creates a response that begins.
    init(
        _ response: ResponseSource.Response, to body: JSONValue, after conversation: Conversation,
        steps: [ResponseStep], eventsPerSecond: Double?
    ) {
        self.response = response
        self.body = body
        self.conversation = conversation
        self.lane = body["stream_id"]?.string
        self.steps = steps
        self.interval = eventsPerSecond.flatMap { $0 > 0 ? .seconds(min(3600, 1 / $0)) : nil }
    }

    /// Returns whether an action is due at a moment.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        switch self.wait {
        case .none: true
        case .until(let instant): instant <= now
        case .forever: false
        }
    }

    /// Returns the next action; only when it is due.
    mutating func next(at now: ContinuousClock.Instant, configuration: ChappieTestServer.Configuration) -> Next {
        self.wait = .none
        if self.cadence != nil, let next = self.nextSign(at: now) { return next }
        guard self.index < self.steps.count else { return .over }
        let step = self.steps[self.index]
        if step.event != nil, let interval, !self.isPaced {
            self.isPaced = true
            self.wait = .until(now + interval)
            return .later
        }
        self.isPaced = false
        self.index += 1
        switch step {
        case .pause(let seconds): self.pause(seconds: seconds, configuration: configuration)
        case .hang: self.pause(seconds: nil, configuration: configuration)
        case .event, .binary, .ping, .close, .endStream, .text, .end:
            if step.event?.isNumbered == true { self.nextNumber += 1 }
            return .step(step)
        }
        return .later
    }

    /// Returns a number for an event beside the script's.
    mutating func takeNumber() -> Int {
        defer { self.nextNumber += 1 }
        return self.nextNumber
    }

    /// Takes input for the response, which has an effect at once.
    mutating func steer(_ steering: Steering) {
        self.steering = steering
        self.wait = .none
    }

    /// Takes input that waits for the end of the response; ends a pause of the response.
    mutating func keep(_ steering: Steering) {
        self.pendingSteering.append(steering)
        self.cadence = nil
        self.sign = nil
        self.wait = .none
    }

    private mutating func pause(seconds: Double?, configuration: ChappieTestServer.Configuration) {
        let cadence = WaitingCadence(seconds: seconds, configuration: configuration, transport: .webSocket)
        guard !cadence.isEndless else { return self.wait = .forever }
        self.cadence = cadence
    }

    /// Returns the next sign of life of a pause; nil when the pause is over.
    private mutating func nextSign(at now: ContinuousClock.Instant) -> Next? {
        if self.sign == nil { self.sign = self.cadence?.next() }
        guard let sign = self.sign else {
            self.cadence = nil
            return nil
        }
        guard sign.instant <= now else {
            self.wait = .until(sign.instant)
            return .later
        }
        self.sign = nil
        if sign.sign != nil { return .step(.event(.keepalive)) }
        self.cadence = nil
        return nil
    }
}

extension ResponseStep {
    /// The event that the step sends; nil when it sends none.
    var event: ScriptEvent? {
        switch self {
        case .event(let event), .binary(let event): event
        case .ping, .close, .endStream, .text, .end, .pause, .hang: nil
        }
    }
}
