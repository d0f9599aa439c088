import ChappieTransport
import PathDiagnosis
import ServerSentEvents
import StreamTransport
import TransportSurface

/// Reads a probe server's event stream: `data: NUMBER MICROSECONDS PADDING`, each event with the time of its sending.
///
/// Pure: it reads no clock. It belongs to the task of the examination.
struct ProbeStream {
    /// The most bytes of one event.
    private static let eventByteCountLimit = 64 << 10
    /// The most bytes of the stream: many times those of the events that an examination asks for.
    private static let byteCountLimit = 1 << 20
    /// The most events that are kept.
    private static let arrivalLimit = 1_000
    /// The times of sending that are possible, in microseconds: up to a minute.
    private static let times = 0...60_000_000

    /// A body whose general content type leaves its kind open, and the beginning of it that has come.
    private struct Undecided {
        let type: String
        var beginning: [UInt8] = []
    }

    private var parser = EventStreamParser(maximumEventByteCount: Self.eventByteCountLimit)
    private var byteCount = 0
    private var lastBytes = Duration.zero
    private var undecided: Undecided?
    /// The facts so far.
    private(set) var facts: EventStreamFacts

    /// Creates a stream of so many events; nil when their number is not known.
    init(askedCount: Int? = nil) {
        self.facts = EventStreamFacts(head: nil, arrivals: [], end: .timedOut, askedCount: askedCount)
    }

    /// Takes an event of the exchange, with the time since the request; returns whether it was the last.
    mutating func receive(_ event: ProbeExchange.Event, after time: Duration) -> Bool {
        switch event {
        case .opened(let head):
            self.facts.head = time
            if !head.mayHaveEventStream {
                self.facts.end = .refused(statusCode: head.statusCode)
            } else if let type = head.mediaType, head.hasGeneralType {
                self.undecided = Undecided(type: type)
            } else if !head.isEventStream {
                self.facts.end = .otherType(isPage: WebPage.isContentType(head.mediaType))
            }
            return self.facts.end != .timedOut
        case .payload(let bytes):
            self.byteCount += bytes.count
            self.lastBytes = time
            guard let bytes = self.eventStream(in: bytes), self.parse(bytes, after: time) else { return true }
            return self.endIfExcessive()
        case .ended(let end):
            self.facts.end =
                if end != .complete { .cut } else if self.undecided == nil { .complete } else {
                    .otherType(isPage: false)
                }
            return true
        case .ready, .pong: return false
        }
    }

    /// Notes the end of the reading, with the time since the request.
    mutating func stop(after time: Duration) {
        if self.facts.end == .timedOut { self.facts.silence = time - self.lastBytes }
    }

    /// Returns the bytes to parse, none while the kind of the body is open; nil when it is no event stream.
    ///
    /// A general content type is read as the engine reads it, so that the examination finds what a turn would.
    private mutating func eventStream(in bytes: [UInt8]) -> [UInt8]? {
        guard let undecided = self.undecided else { return bytes }
        let body = EventStreamBeginning(undecided.beginning + bytes)
        switch body.kind {
        case .unknown:
            self.undecided?.beginning = body.bytes
            return []
        case .eventStream:
            self.undecided = nil
            self.facts.generalType = undecided.type
            return body.bytes
        case .other:
            self.facts.end = .otherType(isPage: false)
            return nil
        }
    }

    /// Ends a stream with more than was asked for, which may have no end; returns whether it is one.
    private mutating func endIfExcessive() -> Bool {
        let hasMoreEvents = self.facts.askedCount.map { self.facts.arrivals.count > $0 } ?? false
        guard hasMoreEvents || self.byteCount > Self.byteCountLimit else { return false }
        self.facts.end = .excessive
        return true
    }

    /// Returns false when the bytes are not those of an event stream within the limit.
    private mutating func parse(_ bytes: [UInt8], after time: Duration) -> Bool {
        var texts: [String] = []
        do {
            try unsafe bytes.withUnsafeBytes { bytes in
                try unsafe self.parser.parse(bytes) { item in
                    guard case .event(let event) = unsafe item else { return }
                    texts.append(unsafe String(decoding: event.data, as: UTF8.self))
                }
            }
        } catch {
            self.facts.end = .cut
            return false
        }
        for text in texts {
            let words = text.split(separator: " ", maxSplits: 2)
            guard words.count >= 2, let sent = Int(words[1]), Self.times.contains(sent),
                self.facts.arrivals.count < Self.arrivalLimit
            else { continue }
            self.facts.arrivals.append(
                .init(sent: .microseconds(sent), received: time, byteCount: self.byteCount))
        }
        return true
    }
}
