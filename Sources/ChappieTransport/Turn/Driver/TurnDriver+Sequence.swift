import StreamTransport

/// The steps of a turn that an event sequence reads.
///
/// They serve the middle of a response, where nothing is to be done but to read and to wait; `work` does all else. They
/// are synchronous: the one function that waits is the sequence's (`EventBatchReader.nextOfSequence(reusing:)`).
extension TurnDriver {
    /// Always true: every turn of the engine can be read in steps.
    package var readsInSteps: Bool { true }

    package func beginStepOfSequence(reusing memory: consuming [ChappieStreamEvent]) -> SequenceStep {
        guard self.isInTheMiddle else { return .other }
        let (isCancelled, hasReady) = self.shared.withLock { ($0.beginReading(), $0.ready.count > 0) }
        // `work` ends the turn.
        if isCancelled { return self.leaveSequence() }
        // The consumer's time for the previous batch is not the server's.
        let now = self.tookLastOfBatch()
        self.reader.meter.restartSlice()
        self.reader.queue.reuse(memory)
        if hasReady || self.reader.queue.count > 0, let events = self.takeOfSequence() { return .events(events) }
        return self.continueSequence(at: now)
    }

    package func stepOfSequence(after outcome: TransportWaitOutcome) -> SequenceStep {
        // A passed deadline is examined when nothing has arrived: data that came in the last moment counts.
        if case .cancelled = outcome { return self.stopSequence() }
        if self.shared.withLock({ $0.isCancelled }) { return self.stopSequence() }
        return self.continueSequence(at: nil)
    }

    /// Reads what has arrived, up to the next events for the consumer; `now` is the present time if it is known.
    private func continueSequence(at now: Moment?) -> SequenceStep {
        var now = now
        while self.isInTheMiddle {
            if let wait = self.receiveNow(at: now.take()) {
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

    /// Ends the turn as cancelled.
    private func stopSequence() -> SequenceStep {
        self.stop()
        return self.leaveSequence()
    }

    /// Leaves the rest to `nextOfSequence()`.
    private func leaveSequence() -> SequenceStep {
        self.shared.withLock { $0.isBusy = false }
        return .other
    }
}
