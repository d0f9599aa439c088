// Responses that continue without their connection, until they are too old.
//
// Shared by all connection threads; one lock guards the table.

/// Keeps the events of background responses.
final class BackgroundResponses: Sendable {
    /// The progress of a response at any moment.
    struct Progress: Sendable {
        /// The response's id.
        let id: String
        /// The time of the request.
        let start: ContinuousClock.Instant
        /// The number of events per second; nil is all of them at once.
        let eventsPerSecond: Double?

        /// Returns the time at which the event with a sequence number is made; nil is at once.
        func instant(of number: Int) -> ContinuousClock.Instant? {
            guard let rate = self.eventsPerSecond, rate > 0 else { return nil }
            return self.start + .seconds(Double(number) / rate)
        }

        /// The number of events that have been made.
        var eventCount: Int {
            guard let rate = self.eventsPerSecond, rate > 0 else { return Int.max }
            return Int(min(1e9, (ContinuousClock.now - self.start) / .seconds(1) * rate)) + 1
        }
    }

    /// A stored response.
    struct Entry: Sendable {
        var script: ResponseScript
        var progress: Progress
        /// The number of the event that reports the cancellation; nil while the response was not cancelled.
        var cancellation: Int?

        /// The age.
        var age: Duration { ContinuousClock.now - self.progress.start }

        /// The current response object as JSON text.
        var object: String {
            if self.cancellation != nil { return self.script.identity.object(status: "cancelled") }
            guard self.progress.eventCount >= self.script.events.count else {
                return self.script.identity.object(status: "in_progress")
            }
            let terminal = self.script.events.last { $0.isTerminal }
            return terminal.flatMap { JSONValue(Array($0.text.utf8))?["response"]?.text } ?? "{}"
        }
    }

    private let entries = Monitor([String: Entry]())

    /// Starts a response.
    func add(_ script: ResponseScript, eventsPerSecond: Double?) {
        let id = script.identity.id
        let progress = Progress(id: id, start: .now, eventsPerSecond: eventsPerSecond)
        self.entries.withLock { $0[id] = Entry(script: script, progress: progress) }
    }

    /// Returns a response that is younger than a lifetime; older ones are removed.
    func entry(_ id: String, lifetime: Duration) -> Entry? {
        self.entries.withLock { entries in
            if let entry = entries[id], entry.age > lifetime { entries[id] = nil }
            return entries[id]
        }
    }

    /// Returns the progress of a response; nil when it is not a background response.
    func progress(of id: String) -> Progress? { self.entries.withLock { $0[id]?.progress } }

    /// Cancels a response at its current event; a complete response is not changed.
    func cancel(_ id: String) {
        self.entries.withLock { entries in
            guard let entry = entries[id], entry.cancellation == nil else { return }
            let count = entry.progress.eventCount
            if count < entry.script.events.count { entries[id]?.cancellation = count }
        }
    }

    /// Returns the last event of a response that was cancelled at this number or before; nil when it continues.
    func cancellation(of id: String, number: Int) -> ScriptEvent? {
        let entry = self.entries.withLock { $0[id] }
        guard let entry, let last = entry.cancellation, last <= number else { return nil }
        let object = entry.script.identity.object(status: "cancelled")
        let type = "response.incomplete"
        return ScriptEvent(
            type: type, text: ResponseScript.text(type, "\"response\":\(object)", sequenceNumber: last))
    }
}
