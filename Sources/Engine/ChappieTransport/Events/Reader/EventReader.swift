import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// Reads the events of a response, from their bytes to the consumer's events.
///
/// It belongs to the turn's driver, which gives it each event's JSON: it has no connection. It reads a delta in the
/// middle of a response, which is nearly every event, in one step without a copy of its state. Any other event takes
/// three, with the driver's clock in between: `judge` decides whether the event is read, `isNew` whether it has
/// come before by its number, and `handle` reads it. A step that finds the end of the attempt stores it in `end`, and
/// the later steps have no effect.
///
/// Members with several uses of the value are mutating, as those of `TurnStateMachine`.
struct EventReader: ~Copyable {
    /// The options of a turn that affect the treatment of its events.
    struct Options {
        let rawEvents: ChappieRawEvents
        let reportsDiagnostics: Bool
        /// Indicates whether finished calls are delivered one by one, and so verified by the ledger, because the
        /// program may act on them.
        ///
        /// A caller that runs the calls of the complete response has not received those of a broken one, unless all
        /// events are passed on: those are not guaranteed, and the model may call differently when the request is
        /// repeated.
        let handsOverCalls: Bool
        /// Indicates whether the request only prepares the server.
        let isWarmUp: Bool
        /// Indicates whether the caller runs the calls of the complete response.
        let runsCalls: Bool
        /// The calls of earlier responses that the request answers.
        let answeredCalls: [FinishedCall]
        let limits: ChappieLimits

        /// Creates the options that follow from a configuration and a request.
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
        /// The attempt has failed; the state machine was not informed yet.
        case failed(AttemptFailure)
        /// The state machine has decided the next action: after a failure, if there is one.
        case decided(TurnStateMachine.Action, after: AttemptFailure?)
    }

    /// The way in which a steered response has ended.
    enum SteeredEnd {
        /// It is complete.
        case complete
        /// The server has ended it early for the added input.
        case early
    }

    /// The findings from an attempt's events.
    struct Findings {
        /// Indicates whether the consumer was informed that numbers of events are missing.
        var hasGap = false
        /// Indicates whether the consumer was informed that the content was rewritten at the end.
        var isRewritten = false
        /// Indicates whether an item has named its agent.
        var hasAgents = false
        /// Indicates whether the response has called tools.
        var hasCalls = false
    }

    /// The result of reading an event.
    enum Reading {
        /// It was a delta, and waits for the consumer.
        case queued
        /// It takes the three steps; `scannedEvent` has it.
        case scanned
        /// It comes too late, or does not belong to the response.
        case dropped
        /// The state machine has found an end.
        indirect case action(TurnStateMachine.Action)
    }

    var machine: TurnStateMachine
    let options: Options
    /// The events that wait for the consumer.
    var queue = EventQueue()
    /// Removes the credentials of the turn from the server's text.
    var redaction: SecretRedaction
    /// The server's statements about failures.
    var evidence: FailureEvidence
    let steering: Steering
    /// The lane whose events are read; nil for the lane without a name.
    var lane: [UInt8]?
    /// The transport of the newest attempt, whose answer is read; before it, the one that is preferred.
    var transport: ChappieTransportKind
    /// The end of the attempt, until the driver has taken it.
    var end: End?
    /// The end of a steered response whose successor is awaited; nil while a response is read.
    var steeredEnd: SteeredEnd?
    var findings = Findings()
    /// The times of batches of events, and of output among them.
    var meter = BatchMeter()
    /// Indicates whether the server keeps the response, so that another turn can continue it.
    var isKept = false
    /// The server's name for the newest response.
    var responseID: String?
    /// The items and the outcome of the response that is read, as far as it has come.
    var record: ResponseRecord
    /// The response's statements about its tool calls.
    var calls: CallStatements
    /// Indicates whether calls of the response wait for its end, as the caller runs them only then.
    var hasWaitingCalls = false
    /// The usage limits that the server has reported.
    private(set) var usageLimits = UsageLimits()
    /// The first half of a surrogate pair that has come at the end of a delta, and waits for the second one.
    var half: PendingHalf?
    /// The unknown types of events that were reported to the consumer.
    var unknownTypes: Set<String> = []
    /// Indicates whether a delta needs only its delivery, for the state machine and for the consumer.
    private var isFlowing = false
    /// Indicates whether the event that was judged last repeats a closing event of a done item, and says nothing new.
    var closesAgain = false
    /// Indicates whether the current event is made of another API's, so that the consumer does not get it as raw.
    var isTranslated = false
    /// Indicates whether another turn has delivered the current event, so that nothing of it is passed on.
    var isWithheld = false
    /// The number of bytes of replayed output that were compared when the replay caught up; nil after the driver has
    /// taken it.
    var verifiedByteCount: Int?
    private var decoder: ResponseEventDecoder

    /// Creates the reader of a turn that has not begun.
    ///
    /// - Parameters:
    ///   - engine: the instance's engine.
    ///   - request: the caller's request.
    ///   - requestID: the caller's name for it.
    ///   - steering: the turn's steering.
    init(_ engine: Engine, _ request: ChappieTransportRequest, requestID: String, _ steering: Steering) {
        let (configuration, limits) = (engine.configuration, engine.configuration.limits)
        self.machine = TurnStateMachine(policy: RetryPolicy(configuration))
        self.options = Options(configuration, request)
        self.redaction = engine.redaction.adding(request.fields)
        self.evidence = FailureEvidence(engine, requestID: requestID)
        self.steering = steering
        self.transport = request.preferredTransport(of: configuration.policy)
        self.record = ResponseRecord(byteCountLimit: limits.eventByteCount)
        self.calls = CallStatements(byteCountLimit: limits.outputByteCount)
        self.decoder = ResponseEventDecoder(maximumByteCount: limits.eventByteCount)
    }

    /// Begins the reading of a turn that may run.
    mutating func begin(_ sender: RequestSender) {
        self.lane = sender.outgoing.streamID
        self.redaction.add(sender.credential)
        self.isKept = sender.isKept
    }

    /// Begins the answer of an attempt.
    mutating func begin(_ attempt: Attempt) {
        self.end = nil
        self.steeredEnd = nil
        self.findings = Findings()
        self.continues(with: attempt)
        guard !attempt.continuesResponse else { return }
        self.half = nil
        self.hasWaitingCalls = false
        self.record.restart()
        self.calls.restart()
    }

    /// Reads the answer of the other attempt of a race from now on.
    mutating func continues(with attempt: Attempt) {
        self.evidence.restart()
        self.transport = attempt.transport
        self.steering.begin(over: attempt.transport, on: attempt.connection)
    }

    /// Returns the state machine's action for an attempt on a connection of an earlier turn.
    mutating func lent(_ attempt: Attempt, _ exchange: KeptExchange?) -> TurnStateMachine.Action {
        var earlier = exchange?.earlier ?? EarlierResponses()
        earlier.areCallsAnswered = !self.options.answeredCalls.isEmpty
        return self.machine.lent(attempt: attempt.number, after: exchange?.responseID, earlier: earlier)
    }

    /// Prepares for a batch of events that has come by now.
    ///
    /// One reading of the clock is enough for all of them, as there are no waits in between.
    mutating func beginBatch(attempt: Int, at now: Moment) {
        self.meter.begin(at: now)
        // A consumer that wants diagnostics, or the raw form of output, gets more than the output.
        self.isFlowing =
            self.half == nil && !self.options.reportsDiagnostics && self.options.rawEvents != .all
            && self.machine.isFlowing(attempt)
    }

    /// Ends the steering; a request that was steered is not sent again.
    mutating func endSteering() {
        if self.steering.end() { self.machine.steered() }
    }

    /// Makes every further event of the batch take the three steps.
    mutating func stopFlowing() { self.isFlowing = false }

    /// Fails the attempt, unless it has ended.
    mutating func fail(_ failure: AttemptFailure) {
        if self.end == nil { self.end = .failed(failure) }
    }

    /// Appends an event for the consumer.
    ///
    /// All events that are not output pass here, so that they contain no secret of the turn.
    mutating func deliver(_ event: ChappieStreamEvent) {
        if self.isWithheld {
            switch event {
            case .raw, .usageLimits: return
            case .textDelta, .reasoningDelta, .refusalDelta, .toolCallRequested, .approvalRequested,
                .toolCallCompleted, .restarted, .diagnostic, .completed:
                break
            }
        }
        self.queue.append(self.redaction.event(event))
    }

    /// Appends a diagnostic, when the consumer wants any.
    mutating func report(_ diagnostic: ChappieDiagnostic) {
        if self.options.reportsDiagnostics { self.deliver(.diagnostic(diagnostic)) }
    }

    /// Returns whether the server seems to wait for the output of tools: only a response of several agents continues
    /// with it.
    mutating func awaitsToolOutput() -> Bool {
        self.findings.hasAgents && self.findings.hasCalls && !self.machine.delivery.hasOpenItem()
    }

    /// Merges the server's usage limits, and informs the consumer.
    mutating func merge(_ snapshot: UsageLimitSnapshot) {
        guard snapshot.limitID == UsageLimitSnapshot.defaultLimitID, !snapshot.isEmpty else { return }
        self.usageLimits.merge(snapshot)
        guard let known = self.usageLimits[snapshot.limitID].flatMap(ChappieUsageLimitSnapshot.init) else { return }
        self.deliver(.usageLimits(known))
    }

    /// Reads the JSON of one event.
    mutating func read(_ json: UnsafeRawBufferPointer, attempt: Int) throws(ResponseEventError) -> Reading {
        guard attempt == self.machine.readAttempt || self.machine.isReading(attempt) else { return .dropped }
        guard let delta = unsafe try self.decoder.scan(json), self.isFlowing,
            let slot = ReplaySlot(delta.kind, outputIndex: delta.outputIndex, partIndex: delta.partIndex),
            self.machine.delivery.isRunning(delta.shape) || self.belongs(delta, in: slot),
            self.isNew(delta, in: slot)
        else { return .scanned }
        return unsafe self.read(delta.text.utf8, in: slot, attempt: attempt)
    }

    /// Reads a delta of another API; `scanned` says that it takes more steps than output of the slot that was read last.
    mutating func read(_ delta: TranslatedDelta, attempt: Int) -> Reading {
        guard self.isFlowing,
            let slot = ReplaySlot(delta.kind, outputIndex: delta.outputIndex, partIndex: 0),
            self.machine.delivery.isRunning(slot)
        else { return .scanned }
        return unsafe self.read(delta.text, in: slot, attempt: attempt)
    }

    /// Returns whether a delta is output that the consumer gets as such; the driver handles any other.
    @inline(never)
    private mutating func belongs(_ delta: ResponseEvent.Delta, in slot: ReplaySlot) -> Bool {
        guard !delta.text.isEmpty else { return false }
        let name = delta.itemID.map { unsafe EventFingerprint.of(name: $0.utf8.span) } ?? 0
        if slot.kind == .text, self.machine.delivery.takesAsReasoning(name) { return false }
        switch self.machine.delivery.judge(deltaIn: slot, name: name, shape: delta.shape) {
        case .fine, .tolerated:
            let place = self.machine.delivery.place(of: name, at: slot.outputIndex)
            return place == slot.outputIndex && !self.machine.delivery.isAside(place)
                && !self.machine.delivery.isBehindClosing()
        case .foreign, .violation: return false
        }
    }

    /// Returns whether a delta is known to be new by its number, where it has a usable one.
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
            self.meter.queued()
            return .queued
        case .ignore:
            return .dropped
        case let action:
            return unsafe self.admitted(action, utf8, in: slot, attempt: attempt)
        }
    }

    /// Follows an action that is not to deliver or to withhold the delta alone.
    @inline(never)
    private mutating func admitted(
        _ action: TurnStateMachine.Action, _ utf8: UnsafeBufferPointer<UInt8>, in slot: ReplaySlot, attempt: Int
    ) -> Reading {
        switch action {
        case .restart, .deliverWithheld: break
        default: return .action(action)
        }
        self.admitted(action, unsafe BorrowedText(validatedUTF8: utf8), in: slot, attempt: attempt)
        return .queued
    }

    /// The name of the function whose arguments the event closes that was scanned last; nil when it has none.
    var closingName: String? { self.decoder.closingName }

    /// Returns whether an event is one with which a response ends, as far as its bytes show.
    mutating func isTerminal(_ event: ServerSentEventBytes) -> Bool {
        if unsafe event.type.elementsEqual("error".utf8), unsafe ServerErrorFacts(body: event.data) != nil {
            return true
        }
        if case .error? = unsafe UntypedEvent(event.data, named: event.type) { return true }
        var isTerminal = unsafe self.isTerminal(event.data)
        if !isTerminal {
            _ = unsafe UntypedEvent.with(event.type, addedTo: event.data) { json in
                isTerminal = unsafe self.isTerminal(json)
            }
        }
        return isTerminal
    }

    private mutating func isTerminal(_ json: UnsafeRawBufferPointer) -> Bool {
        do throws(ResponseEventError) {
            return unsafe try self.decoder.decode(json).kind.isTerminal
        } catch {
            return false
        }
    }

    /// Returns the event that was scanned last, whose bytes are `json`; the text of an item of reasoning is reasoning.
    mutating func scannedEvent(_ json: UnsafeRawBufferPointer) throws(ResponseEventError) -> ResponseEvent {
        let event = unsafe try self.decoder.scannedEvent(json)
        switch event.kind {
        case .delta(.text, _, _, _):
            return self.machine.delivery.takesAsReasoning(event.itemName) ? event.asReasoning : event
        case .partDone(.text, _, _, let text):
            // A closing text that is the newest text closes that one, whatever item it names.
            guard self.machine.delivery.takesAsReasoning(event.itemName),
                unsafe !self.machine.delivery.isNewest(text.utf8.span, of: .text)
            else { return event }
            return event.asReasoning
        default:
            return event
        }
    }
}

extension ReplaySlot {
    /// Creates the slot of a delta that the consumer gets; nil for one that is passed on raw.
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

    /// Creates the slot of any delta, including those that the consumer does not get as output.
    init(anyKind kind: ResponseEvent.DeltaKind, outputIndex: Int, partIndex: Int) {
        self =
            Self(kind, outputIndex: outputIndex, partIndex: partIndex)
            ?? Self(.toolCall, outputIndex: outputIndex, partIndex: partIndex)
    }
}
