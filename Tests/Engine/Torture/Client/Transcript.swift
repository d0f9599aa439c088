// The deliveries of one stream, in order.
//
// A value owned by the run.
import ChappieTransport

/// Everything that one stream delivered.
struct Transcript: Sendable {
    /// One thing that arrived.
    enum Entry: Sendable {
        /// A delta.
        case output(OutputChannel, String)
        /// An event that no other case carries, as JSON text.
        case raw(type: String, payload: String)
        /// The next attempt begins.
        case reconnected
        /// Output so far is void; its text.
        case restarted(String)
        /// The end.
        case completed
    }

    /// The received events.
    private(set) var entries: [Entry] = []
    /// Every event of the stream, when the run is recorded.
    private(set) var events: [ChappieStreamEvent]?
    /// The error that the stream threw.
    var error: (any Error)?
    /// The client's report on its attempts.
    var report: ChappieStreamReport?
    /// The response as its end described it.
    var response: ChappieResponse?

    /// An empty transcript.
    init(keepsEvents: Bool = false) { if keepsEvents { self.events = [] } }

    /// Adds an event.
    mutating func add(_ event: ChappieStreamEvent) {
        self.events?.append(event)
        switch event {
        case .textDelta(let text): self.entries.append(.output(.text, text))
        case .reasoningDelta(let text): self.entries.append(.output(.reasoning, text))
        case .refusalDelta(let text): self.entries.append(.output(.refusal, text))
        case .raw(let type, let payload): self.entries.append(.raw(type: type, payload: payload))
        case .completed: self.entries.append(.completed)
        case .diagnostic(let diagnostic):
            if diagnostic.kind == .reconnecting || diagnostic.kind == .fellBack { self.entries.append(.reconnected) }
        case .restarted(let text): self.entries.append(.restarted(text))
        case .usageLimits: break
        case .toolCallRequested, .approvalRequested, .toolCallCompleted:
            preconditionFailure("the engine runs no tools")
        }
    }

    /// Indicates whether the stream threw because a response contradicted itself.
    var isContradicted: Bool { (self.error as? ChappieClientError)?.tag == "event.contradictory" }

    /// The entries before the first reconnection.
    var beforeReconnection: ArraySlice<Entry> {
        self.entries.prefix { if case .reconnected = $0 { false } else { true } }
    }

    /// The entries around the only restart, and its text; nil without one, or with several.
    var restart: (before: ArraySlice<Entry>, text: String, behind: ArraySlice<Entry>)? {
        let places = self.entries.indices.filter { if case .restarted = self.entries[$0] { true } else { false } }
        guard places.count == 1, let place = places.first, case .restarted(let text) = self.entries[place] else {
            return nil
        }
        return (self.entries[..<place], text, self.entries[(place + 1)...])
    }
}

extension Sequence where Element == Transcript.Entry {
    /// The bytes of a channel, one delta behind the other.
    func bytes(_ channel: OutputChannel) -> [UInt8] {
        var bytes: [UInt8] = []
        for case .output(channel, let text) in self { bytes += text.utf8 }
        return bytes
    }

    /// The payloads of the raw events.
    var rawPayloads: [String] { self.compactMap { if case .raw(_, let payload) = $0 { payload } else { nil } } }
}
