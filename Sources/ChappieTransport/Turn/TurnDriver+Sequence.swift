import StreamTransport

/// The steps of a turn that an event sequence reads.
///
/// They serve the middle of a response, where nothing is to be done but to read and to wait; `work` does all else. They
/// are synchronous: the one function that waits is the sequence's (`EventSource.nextOfSequence(reusing:)`).
extension TurnDriver {
    /// True.
    package var readsInSteps: Bool { true }

    package func beginStepOfSequence(reusing memory: consuming [ChappieStreamEvent]) -> SequenceStep {
        guard self.isInTheMiddle else { return .other }
        let (isCancelled, hasReady) = self.shared.withLock { ($0.beginReading(), $0.ready.count > 0) }
        // `work` ends the turn.
        if isCancelled { return self.leaveSequence() }
        // The consumer's time for the previous batch is not the server's.
        self.tookLastOfBatch()
        self.reader.meter.restartSlice()
        self.reader.queue.reuse(memory)
        if hasReady || self.reader.queue.count > 0, let events = self.takeOfSequence() { return .events(events) }
        return self.continueSequence()
    }

    package func stepOfSequence(after outcome: TransportWaitOutcome) -> SequenceStep {
        // A passed deadline is examined when nothing has arrived: data that came in the last moment counts.
        if outcome == .cancelled || self.shared.withLock({ $0.isCancelled }) {
            self.stop()
            return self.leaveSequence()
        }
        return self.continueSequence()
    }

    /// Reads what has arrived, up to the next events for the consumer.
    private func continueSequence() -> SequenceStep {
        while self.isInTheMiddle {
            if let wait = self.receiveNow() {
                self.reader.meter.restartSlice()
                return .wait(wait.connection, nanoseconds: wait.nanoseconds)
            }
            let isSliceOver = self.reader.meter.isSliceOverInPlace()
            if isSliceOver { self.beginSlice() }
            self.noteReplaySafety()
            // No other call makes events, so that an empty queue needs no lock.
            if self.reader.queue.count > 0, let events = self.takeOfSequence() { return .events(events) }
            if isSliceOver { return .pause }
            if self.shared.isGivenUp { self.stop() }
        }
        return self.leaveSequence()
    }

    /// Indicates whether nothing is to be done but to read one connection, and to wait for it.
    private var isInTheMiddle: Bool {
        self.action == nil && !self.hasEnded && self.deadlines.startedAt != nil && !self.attempts.isRace
    }

    private func takeOfSequence() -> [ChappieStreamEvent]? {
        self.shared.withLock { $0.takeOfSequence(orOf: &self.reader.queue, oneByOne: self.reader.isKept) }
    }

    /// Leaves the rest to `nextOfSequence()`.
    private func leaveSequence() -> SequenceStep {
        self.shared.withLock { $0.isBusy = false }
        return .other
    }
}
