import ResponseEvents
import StreamSession

/// Reads the events of a response, from their bytes to what the consumer gets, and queues that.
///
/// It belongs to the turn's driver. What nearly every event is, a delta in the middle of a response, it deals with
/// itself: that way is one step for the driver, without a copy of the state machine and with one allocation at most.
/// Every other event it hands to the driver.
struct ResponseReader: ~Copyable {
    /// What became of an event.
    enum Reading {
        /// It was a delta, and is in the queue.
        case queued
        /// It is for the driver; nothing but its bytes was looked at.
        case event(ResponseEvent)
        /// It is no part of the response, or comes too late.
        case dropped
        /// It ends the attempt.
        case violation(ResponseOrder.Violation)
        /// The state machine has found an end.
        case action(TurnStateMachine.Action)
    }

    var machine: TurnStateMachine
    /// Judges the shape of the response that is read.
    var order = ResponseOrder()
    private var decoder: ResponseEventDecoder
    /// Events that are decoded and not yet taken, in order, from `nextEvent` on.
    private var events: [ChappieStreamEvent] = []
    private var nextEvent = 0
    /// Whether a delta is nothing but output: nobody wants its number or its raw form, and it is not the first.
    var isFlowing = false
    /// Whether deltas were queued since the driver has asked.
    private var hasQueued = false

    init(machine: consuming TurnStateMachine, eventByteCountLimit: Int) {
        self.machine = machine
        self.decoder = ResponseEventDecoder(maximumByteCount: eventByteCountLimit)
    }

    // MARK: Bytes

    /// Reads the JSON of one event.
    mutating func read(_ json: UnsafeRawBufferPointer, attempt: Int) throws(ResponseEventError) -> Reading {
        guard self.machine.isReading(attempt) else { return .dropped }
        // Some servers end their streams with it; whether the response is complete is another matter.
        if unsafe ResponseEventDecoder.isEndSentinel(json) { return .dropped }
        let event = unsafe try self.decoder.decode(json)
        guard self.isFlowing, case .delta(let kind, let outputIndex, let partIndex, let text) = event.kind,
            event.streamID == nil, !text.isEmpty,
            let slot = ReplaySlot(kind, outputIndex: outputIndex, partIndex: partIndex)
        else { return .event(event) }
        return self.read(text, in: slot, attempt: attempt)
    }

    private mutating func read(_ text: BorrowedText, in slot: ReplaySlot, attempt: Int) -> Reading {
        switch self.order.delta(in: slot) {
        case .fine, .tolerated: break
        case .foreign: return .dropped
        case .violation(let violation): return .violation(violation)
        }
        switch self.machine.deltaReceived(unsafe text.utf8.span, in: slot, attempt: attempt) {
        case .deliver(let offset):
            self.queue(text.dropping(first: offset), of: slot.kind)
            self.hasQueued = true
            return .queued
        case .ignore:
            return .dropped
        case let action:
            return .action(action)
        }
    }

    /// Whether deltas were queued since this was last asked.
    mutating func takeHasQueued() -> Bool {
        defer { self.hasQueued = false }
        return self.hasQueued
    }

    // MARK: The queue

    /// How many events wait for the consumer.
    var queuedCount: Int { self.events.count - self.nextEvent }

    /// Puts an event behind the others.
    mutating func queue(_ event: ChappieStreamEvent) { self.events.append(event) }

    /// Puts new output behind the others.
    @inline(__always)
    mutating func queue(_ text: BorrowedText, of kind: ReplaySlot.Kind) {
        let string = String(text)
        switch kind {
        case .text: self.events.append(.textDelta(string))
        case .refusal: self.events.append(.refusalDelta(string))
        case .reasoningSummary, .reasoningText, .toolCall: self.events.append(.reasoningDelta(string))
        }
    }

    /// The next event; nil when there is none.
    mutating func takeEvent() -> ChappieStreamEvent? {
        guard self.nextEvent < self.events.count else { return nil }
        defer { self.nextEvent += 1 }
        return self.events[self.nextEvent]
    }

    /// Forgets what was taken and what was not, and keeps the memory.
    mutating func removeAllEvents() {
        self.events.removeAll(keepingCapacity: true)
        self.nextEvent = 0
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
}
