import ResponseEvents
import StreamSession
import StreamTransport

/// Reads the events of a response, from their bytes to what the consumer gets.
///
/// It belongs to the turn's driver. What nearly every event is, a delta in the middle of a response, it deals with
/// itself: for the driver that is one step, and nothing of the state is copied. Every other event it hands over.
struct ResponseReader: ~Copyable {
    /// What became of an event.
    enum Reading {
        /// It was a delta, and waits for the consumer.
        case queued
        /// It is for the driver, which asks for `scannedEvent`; nobody has judged it.
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
    /// What waits for the consumer.
    var queue = EventQueue()
    /// Whether a delta is nothing but output, for the state machine and for the consumer.
    private var isFlowing = false
    /// Whether deltas were queued since the driver has asked.
    private var hasQueued = false
    private var decoder: ResponseEventDecoder

    init(machine: consuming TurnStateMachine, eventByteCountLimit: Int) {
        self.machine = machine
        self.decoder = ResponseEventDecoder(maximumByteCount: eventByteCountLimit)
    }

    /// Prepares for a batch of events.
    ///
    /// `wantsOutputOnly` says that the consumer wants neither diagnostics nor the raw form of what is output.
    mutating func beginBatch(wantsOutputOnly: Bool, attempt: Int) {
        self.isFlowing = wantsOutputOnly && self.machine.isFlowing(attempt)
    }

    /// Leaves every event of the batch to the driver.
    mutating func stopFlowing() { self.isFlowing = false }

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
                self.machine.isRunning(delta.shape) || self.belongs(delta, in: slot), self.isNew(delta, in: slot)
            else { return .scanned }
            return unsafe self.read(delta.text.utf8, in: slot, attempt: attempt)
        } catch {
            // Some servers end their streams with it; whether the response is complete is another matter.
            if unsafe ResponseEventDecoder.isEndSentinel(json) { return .dropped }
            throw error
        }
    }

    /// Whether a delta is output of the response that the consumer sees as such; the driver looks at any other.
    @inline(never)
    private mutating func belongs(_ delta: ResponseEvent.Delta, in slot: ReplaySlot) -> Bool {
        guard !delta.text.isEmpty else { return false }
        let name = delta.itemID.map { unsafe EventFingerprint.of(name: $0.utf8.span) } ?? 0
        switch self.machine.order.delta(in: slot, name: name, shape: delta.shape) {
        case .fine, .tolerated:
            let place = self.machine.place(of: name, at: slot.outputIndex)
            return place == slot.outputIndex && !self.machine.isAside(place)
        case .foreign, .violation: return false
        }
    }

    /// Whether a delta is known to be new by its number, where it has one that says anything.
    @inline(__always)
    private mutating func isNew(_ delta: ResponseEvent.Delta, in slot: ReplaySlot) -> Bool {
        guard delta.sequenceNumber >= 0, self.machine.readsNumbers() else { return true }
        return self.machine.takesNext(
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

    /// Whether deltas were queued since this was last asked.
    mutating func takeHasQueued() -> Bool {
        defer { self.hasQueued = false }
        return self.hasQueued
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
