/// The steps on an established WebSocket, of event streams, and of idle connections.
extension StepJudge {
    /// The size from which a message counts as large: beyond the buffers of small intermediaries.
    private static let largeByteCount = 128 << 10
    /// The round trip from which a ping is slow.
    private static let slowRoundTrip = Duration.seconds(1)
    /// The silence from which an event stream with missing events has stalled: many times the pause between two of
    /// them.
    private static let stall = Duration.seconds(1)

    /// Judges messages that the server returns.
    static func messages(_ facts: MessageFacts) -> Judgement {
        let returned = facts.messages.filter(\.echo.isReturned).map(\.words)
        guard let first = facts.messages.first(where: \.echo.isLost) else {
            let late = facts.messages.filter { !$0.echo.isReturned }.map { "\($0.words) \($0.echo.words)" }
            let verb = returned.count == 1 ? "returns" : "return"
            let sizes = returned.isEmpty ? [] : ["\(returned.joined(separator: " and ")) \(verb) unchanged"]
            return .ok((sizes + late).joined(separator: ", "))
        }
        let lost = facts.messages.filter(\.echo.isLost)
        let evidence = facts.messages.map { "\($0.words): \($0.echo.words)" }
        let finding: PathFinding =
            if lost.contains(where: { $0.echo == .damaged }) {
                facts.isCompressed ? .compressionBroken : .damagedMessages
            } else if lost.allSatisfy({ $0.byteCount >= Self.largeByteCount }) { .largeMessages } else { .everyMessage }
        return .fault(finding, "\(first.words): \(first.echo.words)", evidence: evidence)
    }

    /// Judges pings.
    static func pings(_ facts: PingFacts) -> Judgement {
        guard let median = facts.roundTrip(at: 0.5), let high = facts.roundTrip(at: 0.9) else {
            return .fault(.pingsUnanswered, "none of \(facts.sentCount) was answered")
        }
        let words = "p50 \(median.words), p90 \(high.words), \(facts.roundTrips.count) of \(facts.sentCount) answered"
        if facts.roundTrips.count < facts.sentCount || high >= Self.slowRoundTrip { return .fault(.pingsSlow, words) }
        return .ok(words)
    }

    /// Judges an event stream; `jitter` is the difference between the path's round trips.
    static func eventStream(_ facts: EventStreamFacts, jitter: Duration) -> Judgement {
        let count = "\(facts.arrivals.count) events"
        switch facts.end {
        case .refused(let code): return .fault(.eventsRefused, "status code \(code)")
        case .otherType(let isPage):
            return .fault(.eventsAltered, "\(isPage ? "a web page's" : "another") content type")
        case .excessive: return .fault(.eventsAltered, "more arrives than was asked for")
        case .cut where facts.head == nil, .timedOut where facts.arrivals.isEmpty,
            .complete where facts.arrivals.isEmpty:
            return .fault(.eventsSilent, "no event arrived")
        case .cut where !facts.isComplete, .complete where !facts.isComplete:
            return .fault(.eventsCut, "cut after \(facts.wordsOfCount)")
        case .timedOut where !facts.isComplete && facts.silence >= Self.stall:
            return .fault(.eventsCut, "silent after \(facts.wordsOfCount)")
        // They are late by the time that a stream is given beyond its own.
        case .timedOut where !facts.isComplete: return .fault(.buffered, "\(facts.wordsOfCount) in time")
        case .cut, .timedOut, .complete: break
        }
        let remark = facts.generalType.map {
            "its content type is \($0) and not text/event-stream, and it is read all the same"
        }
        guard let pacing = EventPacing(facts.arrivals) else {
            return .ok([count, remark].compactMap(\.self).joined(separator: "; "))
        }
        let opening = [
            facts.head.map { "head after \($0.words)" },
            facts.arrivals.first.map { "first event after \($0.received.words)" },
        ].compactMap { $0 }.joined(separator: ", ")
        guard pacing.isBuffered(beyond: jitter) else {
            return .ok(["\(opening), then at their pace", remark].compactMap(\.self).joined(separator: "; "))
        }
        let evidence = [
            opening, "events came up to \(pacing.lateness.words) late", "\(pacing.heldByteCount) bytes came at once",
            remark,
        ].compactMap(\.self)
        return .fault(
            pacing.isWhole ? .whole : .buffered, "\(pacing.heldByteCount) bytes held for \(pacing.lateness.words)",
            evidence: evidence)
    }

    /// Judges idle connections.
    static func idle(_ facts: IdleFacts) -> Judgement {
        let cuts = facts.holds.compactMap { hold in
            hold.cut.map {
                "\(hold.isWebSocket ? "a WebSocket" : "an HTTP exchange") was cut after \($0.words) of silence"
            }
        }
        let evidence = cuts + facts.holds.compactMap { hold in hold.answer.map { $0.words(inPlaceOf: hold.asked) } }
        guard let words = evidence.first else {
            let longest = facts.holds.map(\.asked).max() ?? .zero
            return .ok("connections live through \(longest.words) of silence")
        }
        return .fault(cuts.isEmpty ? .idleAnswered : .idleCut, words, evidence: evidence)
    }

    /// Returns the interval of pings that keeps a WebSocket open: half of the shortest time after which one was cut, at
    /// least a second; nil when none was.
    static func pingInterval(_ facts: IdleFacts) -> Duration? {
        facts.holds.compactMap(\.cut).min().map { max(.seconds(1), .seconds(Int($0 / .seconds(2)))) }
    }
}

extension IdleFacts.EarlyAnswer {
    /// The answer in words, in the place of a silence.
    fileprivate func words(inPlaceOf silence: Duration) -> String {
        self.statusCode == 200
            ? "an HTTP exchange was answered after \(self.time.words), and not after \(silence.words) of silence"
            : "an HTTP exchange was refused with status code \(self.statusCode) after \(self.time.words)"
    }
}

extension EventStreamFacts {
    /// The number of events, beside that of the asked ones where it is known.
    fileprivate var wordsOfCount: String {
        self.askedCount.map { "\(self.arrivals.count) of \($0) events" } ?? "\(self.arrivals.count) events"
    }
}

extension MessageFacts.Echo {
    /// Indicates whether the message came back unchanged.
    fileprivate var isReturned: Bool {
        if case .returned = self { true } else { false }
    }

    /// Indicates whether the message is a fault of the path, and not only late.
    fileprivate var isLost: Bool {
        switch self {
        case .damaged, .closed, .timedOut: true
        case .returned, .slow, .undecided: false
        }
    }

    /// The outcome in words.
    fileprivate var words: String {
        switch self {
        case .returned(let time): "returned in \(time.words)"
        case .damaged: "damaged"
        case .closed(let code): code == 1006 ? "the WebSocket was cut" : "the WebSocket was closed with code \(code)"
        case .timedOut: "did not return in time, twice"
        case .slow: "takes longer than there was time"
        case .undecided: "did not return in time, once"
        }
    }
}

extension MessageFacts.Message {
    /// The size in words.
    fileprivate var words: String {
        self.byteCount >= 1 << 20 ? "\(self.byteCount >> 20) MiB" : "\((self.byteCount + 512) >> 10) KiB"
    }
}
