// Responses that go on when their connection is gone, until they are too old.
//
// Shared by all connection threads; one lock guards the table.

/// Keeps the events of background responses.
final class BackgroundResponses: Sendable {
    /// How far a response has come at any moment.
    struct Progress: Sendable {
        /// The response's id.
        let id: String
        /// When it was asked for.
        let start: ContinuousClock.Instant
        /// Events a second; nil is all of them at once.
        let eventsPerSecond: Double?

        /// When the event with a sequence number is made; nil is at once.
        func instant(of number: Int) -> ContinuousClock.Instant? {
            guard let rate = self.eventsPerSecond, rate > 0 else { return nil }
            return self.start + .seconds(Double(number) / rate)
        }

        /// How many events are made by now.
        var eventCount: Int {
            guard let rate = self.eventsPerSecond, rate > 0 else { return Int.max }
            return Int(min(1e9, (ContinuousClock.now - self.start) / .seconds(1) * rate)) + 1
        }
    }

    /// A response that is kept.
    struct Entry: Sendable {
        var script: ResponseScript
        var progress: Progress
        /// The number of the event that says so, when the response was cancelled.
        var cancellation: Int?

        /// The age.
        var age: Duration { ContinuousClock.now - self.progress.start }

        /// The response object as it is now, as JSON text.
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

    /// A response that is younger than a lifetime; older ones are forgotten.
    func entry(_ id: String, lifetime: Duration) -> Entry? {
        self.entries.withLock { entries in
            if let entry = entries[id], entry.age > lifetime { entries[id] = nil }
            return entries[id]
        }
    }

    /// How far a response has come; nil when it is not a background response.
    func progress(of id: String) -> Progress? { self.entries.withLock { $0[id]?.progress } }

    /// Ends a response where it is; one that is complete stays so.
    func cancel(_ id: String) {
        self.entries.withLock { entries in
            guard let entry = entries[id], entry.cancellation == nil else { return }
            let count = entry.progress.eventCount
            if count < entry.script.events.count { entries[id]?.cancellation = count }
        }
    }

    /// The last event of a response that was cancelled at this number or before; nil when it goes on.
    func cancellation(of id: String, number: Int) -> ScriptEvent? {
        let entry = self.entries.withLock { $0[id] }
        guard let entry, let last = entry.cancellation, last <= number else { return nil }
        let object = entry.script.identity.object(status: "cancelled")
        let type = "response.incomplete"
        return ScriptEvent(
            type: type, text: ResponseScript.text(type, "\"response\":\(object)", sequenceNumber: last))
    }
}
