import ResponseEvents
import StreamSession
import StreamTransport

/// Reads the events of a response, from their bytes to what the consumer gets.
///
/// It belongs to the turn's driver and has no I/O and no clock. It reads a delta in the middle of a response, which is
/// nearly every event, in one step with no copy of its state. Any other event takes three, because the driver's clock
/// comes in between: `judge` decides whether the event is read, `isNew` whether it has come before by its number, and
/// `handle` reads it. A step that finds the end of the attempt leaves it in `end`, and the steps after it do nothing.
struct EventReader: ~Copyable {
    /// The options of a turn that decide what is made of its events.
    struct Options {
        let rawEvents: ChappieRawEvents
        let reportsDiagnostics: Bool
        /// Indicates whether finished calls are handed over one by one, and so looked at by the ledger: someone may act
        /// on them.
        ///
        /// A caller that runs the calls of the complete response has not heard of those of a broken one, unless all
        /// events are passed on: they are no promise, and the model may call otherwise when it is asked again.
        let handsOverCalls: Bool
        /// Indicates whether the request only prepares the server.
        let isWarmUp: Bool
        /// Indicates whether the caller runs the calls of the complete response.
        let runsCalls: Bool
        /// The calls of earlier responses that the request answers.
        let answeredCalls: [CompletedResponse.Call]
        let limits: ChappieLimits

        /// The options that follow from a configuration and a request.
        init(_ configuration: ChappieTransportConfiguration, _ request: ChappieTransportRequest) {
            self.rawEvents = configuration.rawEvents
            self.reportsDiagnostics = configuration.reportsDiagnostics
            self.isWarmUp = request.isWarmUp
            self.runsCalls = request.runsCalls
            self.answeredCalls = request.answeredCalls
            self.limits = configuration.limits
            self.handsOverCalls =
                switch configuration.rawEvents {
                case .none: false
                case .unsurfaced: !request.runsCalls
                case .all: true
                }
        }
    }

    /// The end of an attempt that an event has caused.
    enum End {
        /// The attempt has failed; the state machine has not heard of it.
        case failed(AttemptFailure)
        /// The state machine has decided what follows: after a failure, if there is one.
        case decided(TurnStateMachine.Action, after: AttemptFailure?)
    }

    /// The facts about an attempt that its events have told.
    struct Findings {
        /// Indicates whether the consumer knows that numbers of events are missing.
        var hasGap = false
        /// Indicates whether the consumer knows that the content was rewritten in the end.
        var isRewritten = false
        /// Indicates whether an item has said which agent it is of.
        var hasAgents = false
        /// Indicates whether the response has called tools.
        var hasCalls = false
    }

    /// What became of an event.
    enum Reading {
        /// It was a delta, and waits for the consumer.
        case queued
        /// It takes the three steps; `scannedEvent` has it.
        case scanned
        /// It comes too late, or is no part of the response.
        case dropped
        /// The state machine has found an end.
        indirect case action(TurnStateMachine.Action)
    }

    /// Messages that lie there, and how far they are read.
    struct Messages {
        let connection: any TransportConnection
        /// The message at hand.
        var payload: InboundPayload
        /// How many bytes may be read in one step: the events of a step are in memory together.
        var remainingByteCount = 64 << 10
        /// What the connection has reported behind the messages.
        var unhandled: TransportEvent?
    }

    var machine: TurnStateMachine
    let options: Options
    /// The events that wait for the consumer.
    var queue = EventQueue()
    /// Takes the credentials of the turn out of the server's words.
    var redaction: SecretRedaction
    /// The server's words and numbers about failures.
    var evidence: FailureEvidence
    let steering: Steering
    /// The lane whose events are read; nil for the one without a name.
    var lane: [UInt8]?
    /// The transport of the attempt whose answer is read.
    var transport: ChappieTransportKind?
    /// The end of the attempt, until the driver has taken it.
    var end: End?
    var findings = Findings()
    /// The server's name for the newest response.
    var responseID: String?
    /// The items and the outcome of the response that is read, as far as it has come.
    var record: ResponseRecord
    /// The response's statements about its tool calls.
    var calls: CallStatements
    /// The limits that the server has told of.
    private(set) var usageLimits = UsageLimits()
    /// The first half of a surrogate pair that has come at the end of a delta, and waits for the second one.
    var half: PendingHalf?
    /// Types of events that the consumer was told are not known here.
    var unknownTypes: Set<String> = []
    /// Indicates whether a delta is nothing but output, for the state machine and for the consumer.
    private var isFlowing = false
    /// Indicates whether deltas were queued since the driver has asked.
    private var hasQueued = false
    /// Indicates whether output was delivered by `handle` since the driver has asked.
    var hasDelivered = false
    /// How many bytes of replayed output were compared when the replay caught up; nil once the driver knows.
    var verifiedByteCount: Int?
    private var decoder: ResponseEventDecoder

    init(
        machine: consuming TurnStateMachine, options: Options, redaction: SecretRedaction, evidence: FailureEvidence,
        steering: Steering
    ) {
        self.machine = machine
        self.options = options
        self.redaction = redaction
        self.evidence = evidence
        self.steering = steering
        self.record = ResponseRecord(byteCountLimit: options.limits.eventByteCount)
        self.calls = CallStatements(byteCountLimit: options.limits.outputByteCount)
        self.decoder = ResponseEventDecoder(maximumByteCount: options.limits.eventByteCount)
    }

    /// The answer of another attempt is read; `continuesResponse` if it goes on where an earlier one broke.
    mutating func beginAttempt(continuesResponse: Bool) {
        self.end = nil
        self.findings = Findings()
        self.evidence.restart()
        guard !continuesResponse else { return }
        self.half = nil
        self.record.restart()
        self.calls.restart()
    }

    /// Prepares for a batch of events.
    mutating func beginBatch(attempt: Int) {
        // A consumer that wants diagnostics, or the raw form of output, gets more than the output.
        self.isFlowing =
            self.half == nil && !self.options.reportsDiagnostics && self.options.rawEvents != .all
            && self.machine.isFlowing(attempt)
    }

    /// Takes every event of the batch through the three steps.
    mutating func stopFlowing() { self.isFlowing = false }

    /// Fails the attempt, unless it has ended.
    mutating func fail(_ failure: AttemptFailure) {
        if self.end == nil { self.end = .failed(failure) }
    }

    /// Appends an event for the consumer.
    ///
    /// Whatever is not output goes through here, so that no secret of the turn is in it.
    mutating func deliver(_ event: ChappieStreamEvent) {
        self.queue.append(self.redaction.event(event))
    }

    /// Appends news, when the consumer wants any.
    mutating func report(_ diagnostic: ChappieDiagnostic) {
        if self.options.reportsDiagnostics { self.deliver(.diagnostic(diagnostic)) }
    }

    /// Returns whether the server seems to wait for the output of tools: only a response of several agents goes on with
    /// it.
    mutating func awaitsToolOutput() -> Bool {
        self.findings.hasAgents && self.findings.hasCalls && !self.machine.delivery.hasOpenItem()
    }

    /// Takes over what the server says of its limits, and tells the consumer.
    mutating func merge(_ snapshot: UsageLimitSnapshot) {
        guard snapshot.limitID == UsageLimitSnapshot.defaultLimitID, !snapshot.isEmpty else { return }
        self.usageLimits.merge(snapshot)
        guard let known = self.usageLimits[snapshot.limitID].flatMap(ChappieUsageLimitSnapshot.init) else { return }
        self.deliver(.usageLimits(known))
    }

    /// Reads a message, and those behind it as long as messages are but output: nothing happens then that the driver
    /// would have to look at.
    mutating func read(_ messages: inout Messages, attempt: Int) throws(ResponseEventError) -> Reading {
        while true {
            let reading = unsafe try self.read(messages.payload.bytes, attempt: attempt)
            guard case .queued = reading else { return reading }
            messages.remainingByteCount -= unsafe messages.payload.bytes.count
            guard messages.remainingByteCount > 0, let event = messages.connection.next() else { return reading }
            guard case .payload(let next) = event, case .text = next.kind else {
                messages.unhandled = event
                return reading
            }
            messages.payload = next
        }
    }

    /// Reads the JSON of one event.
    mutating func read(_ json: UnsafeRawBufferPointer, attempt: Int) throws(ResponseEventError) -> Reading {
        guard attempt == self.machine.readAttempt || self.machine.isReadingInPlace(attempt) else { return .dropped }
        do throws(ResponseEventError) {
            guard let delta = unsafe try self.decoder.scan(json), self.isFlowing,
                let slot = ReplaySlot(delta.kind, outputIndex: delta.outputIndex, partIndex: delta.partIndex),
                self.machine.delivery.isRunning(delta.shape) || self.belongs(delta, in: slot),
                self.isNew(delta, in: slot)
            else { return .scanned }
            return unsafe self.read(delta.text.utf8, in: slot, attempt: attempt)
        } catch {
            // Some servers end their streams with it; whether the response is complete is another matter.
            if unsafe ResponseEventDecoder.isEndSentinel(json) { return .dropped }
            throw error
        }
    }

    /// Returns whether a delta is output of the response that the consumer sees as such; the driver looks at any other.
    @inline(never)
    private mutating func belongs(_ delta: ResponseEvent.Delta, in slot: ReplaySlot) -> Bool {
        guard !delta.text.isEmpty else { return false }
        let name = delta.itemID.map { unsafe EventFingerprint.of(name: $0.utf8.span) } ?? 0
        switch self.machine.delivery.order.delta(in: slot, name: name, shape: delta.shape) {
        case .fine, .tolerated:
            let place = self.machine.delivery.place(of: name, at: slot.outputIndex)
            return place == slot.outputIndex && !self.machine.delivery.isAside(place)
        case .foreign, .violation: return false
        }
    }

    /// Returns whether a delta is known to be new by its number, where it has one that says anything.
    @inline(__always)
    private mutating func isNew(_ delta: ResponseEvent.Delta, in slot: ReplaySlot) -> Bool {
        guard delta.sequenceNumber >= 0, self.machine.delivery.readsNumbers() else { return true }
        return self.machine.delivery.takesNext(
            delta.sequenceNumber, fingerprint: unsafe EventFingerprint.of(delta: delta.text.utf8.span, in: slot))
    }

    @inline(__always)
    private mutating func read(_ utf8: UnsafeBufferPointer<UInt8>, in slot: ReplaySlot, attempt: Int) -> Reading {
        if utf8.isEmpty { return .scanned }
        switch self.machine.deltaReceived(unsafe utf8.span, in: slot, attempt: attempt) {
        case .deliver(let offset):
            let remainder = unsafe UnsafeBufferPointer(rebasing: utf8[offset...])
            self.queue.append(unsafe BorrowedText(validatedUTF8: remainder), of: slot.kind)
            self.hasQueued = true
            return .queued
        case .ignore:
            return .dropped
        case let action:
            return .action(action)
        }
    }

    /// The event that was scanned last, whose bytes are `json`.
    func scannedEvent(_ json: UnsafeRawBufferPointer) throws(ResponseEventError) -> ResponseEvent {
        unsafe try self.decoder.scannedEvent(json)
    }

    /// Returns whether deltas were queued since this was last asked.
    mutating func takeHasQueued() -> Bool {
        defer { self.hasQueued = false }
        return self.hasQueued
    }

    /// Returns whether output was delivered by `handle` since this was last asked.
    mutating func takeHasDelivered() -> Bool {
        defer { self.hasDelivered = false }
        return self.hasDelivered
    }
}

extension ReplaySlot {
    /// The slot of a delta that the consumer sees; nil for one that is passed on raw.
    init?(_ kind: ResponseEvent.DeltaKind, outputIndex: Int, partIndex: Int) {
        let slotKind: ReplaySlot.Kind
        switch kind {
        case .text: slotKind = .text
        case .refusal: slotKind = .refusal
        case .reasoningSummary: slotKind = .reasoningSummary
        case .reasoningText: slotKind = .reasoningText
        case .functionArguments, .customInput: return nil
        }
        self.init(slotKind, outputIndex: outputIndex, partIndex: partIndex)
    }

    /// The slot of any delta, those that the consumer does not see as output among them.
    init(anyKind kind: ResponseEvent.DeltaKind, outputIndex: Int, partIndex: Int) {
        self =
            Self(kind, outputIndex: outputIndex, partIndex: partIndex)
            ?? Self(.toolCall, outputIndex: outputIndex, partIndex: partIndex)
    }
}
