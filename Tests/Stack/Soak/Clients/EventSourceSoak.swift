// One sequence of `EventSource`, and its consumer.
import EventSource

/// Reads the events of a plan over the connections that they take, and checks every one and the end.
struct EventSourceSoak: Sendable {
    let plan: ClientPlan
    let record: SoakRecord
    let number: Int

    /// Reads to the end, which is a 204, or until the consumer gives up.
    func read(_ source: EventSource) async throws {
        self.record.opened(self.number) { [weak source] in "\(source.map { "\($0.report)" } ?? "dropped")" }
        defer { self.record.count("reconnections", max(0, source.report.attemptCount - 1)) }
        var random = SoakRandom(seed: self.plan.seed &+ 5)
        var events = source.makeAsyncIterator()
        for index in 0..<self.plan.receivedCount {
            self.record.progress(self.number, waits: true)
            let event = try await events.next()
            guard event == self.plan.event(index) else {
                throw WrongContent("event \(index) is another one, or missing: ID \(event?.lastEventID ?? "none")")
            }
            self.record.count { $0.byteCount += event?.data.utf8.count ?? 0 }
            guard self.plan.stops.contains(index) else { continue }
            switch self.plan.kind {
            case .cancelled:
                try await self.giveUp(source, &events)
                return self.record.count { $0.cancelled += 1 }
            case .interrupted: source.reconnect()
            case .pausing: try await self.record.pause(self.number, &random)
            case .steady, .faulty: break
            }
        }
        self.record.progress(self.number, waits: true)
        guard try await events.next() == nil, source.readyState == .closed, source.response?.statusCode == 204,
            source.lastEventID == String(self.plan.receivedCount)
        else { throw WrongContent("another end: \(source.report)") }
        guard source.reconnectionTime == .milliseconds(self.plan.retryMilliseconds)
        else { throw WrongContent("another reconnection time: \(source.reconnectionTime)") }
        self.record.count { $0.completed += 1 }
    }

    private func giveUp(_ source: EventSource, _ events: inout EventSource.Iterator) async throws {
        switch self.plan.surrender {
        case .drop: return
        case .call:
            source.close()
            guard try await events.next() == nil else { throw WrongContent("an event after it was closed") }
        case .task:
            withUnsafeCurrentTask { $0?.cancel() }
            do {
                _ = try await events.next()
                throw WrongContent("read on after it was cancelled")
            } catch is CancellationError {
                // As it was asked to.
            }
        }
    }
}
