import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// One attempt of a turn: its connection and its progress.
///
/// It belongs to the turn's driver.
struct Attempt {
    /// The meaning of the payloads.
    enum Stage: Equatable {
        /// There is no answer yet.
        case opening
        /// The answer is the response: messages, or an event stream.
        case streaming
        /// The answer may be an event stream with a general content type: its beginning decides.
        case undecided
        /// The answer is a refusal, whose body is collected.
        case refused
    }

    /// The number of the attempt; counts from 1 over the whole turn.
    let number: Int
    let transport: ChappieTransportKind
    let connection: any TransportConnection
    /// The recovery step of the attempt.
    let step: TurnStateMachine.Opening.RecoveryStep
    /// The time at which the connection was requested, or taken.
    let startedAt: Duration
    /// The WebSocket of an earlier turn, if it is one.
    let kept: KeptConnection?
    var stage = Stage.opening
    var head: ResponseHead?
    /// Indicates whether the connection closes by itself: it has ended, or was failed with a close code for the peer.
    ///
    /// Cancelling it then would cut off a closing handshake.
    var closesByItself = false
    /// The time at which the request was given to the connection.
    var requestedAt: Duration?
    /// Indicates whether the request is not held back any longer.
    var isRequestSent = false
    /// Indicates whether content of the response came.
    var hasContent = false
    /// The chance of a charge, as its failure has it.
    var charge = Charge.byRequest
    /// The time at which the head of a refusal came.
    var refusedAt: Duration?
    /// The time at which a steered response ended whose successor has not begun; nil otherwise.
    var steeredAt: Duration?
    /// The time of the newest event.
    var lastEvent: Moment?
    /// The time of the newest event that is progress.
    var lastProgress: Moment?
    /// The time at which the process continued after a stop of more than a time budget.
    var wentOn: Duration?
    /// Indicates whether the consumer was informed that there is no progress.
    var isKnownToStall = false
    /// The kept part of the body of a refusal, or of an answer that does not look like an event stream.
    var refusal: [UInt8] = []
    /// Indicates whether the answer is a page for a browser, with any content type.
    var isPage = false
    /// The event that has ended a run of messages, and was not taken yet.
    private var eventBehindRun: TransportEvent?

    init(of opening: TurnStateMachine.Opening, on connection: any TransportConnection, at now: Duration) {
        self.number = opening.attempt
        self.transport = opening.transport
        self.connection = connection
        self.step = opening.step
        self.startedAt = now
        self.kept = nil
    }

    /// Creates an attempt on a connection of an earlier turn.
    init(of opening: TurnStateMachine.Opening, on kept: KeptConnection, at now: Duration) {
        self.number = opening.attempt
        self.transport = .webSocket
        self.connection = kept.connection
        self.step = opening.step
        self.startedAt = now
        self.kept = kept
        self.stage = .streaming
    }

    /// The time at which the connection was requested, from which its statistics count.
    var connectionStart: Duration { self.kept?.startedAt ?? self.startedAt }

    /// Indicates whether any event came.
    var hasEvents: Bool { self.lastEvent != nil }

    /// Indicates whether the response continues where it broke rather than beginning again.
    var continuesResponse: Bool {
        guard case .resume(let cursor) = self.step else { return false }
        return cursor.lastSequenceNumber != nil
    }

    /// Indicates whether the rest of a response is read.
    var isResumed: Bool {
        guard case .resume = self.step else { return false }
        return true
    }

    // MARK: The answer

    /// Takes the next event of the connection; nil when none has arrived.
    mutating func nextEvent() -> TransportEvent? { self.eventBehindRun.take() ?? self.connection.next() }

    /// Takes the next event if it is a text message that has arrived; any other stays for `nextEvent()`.
    mutating func nextMessage() -> InboundPayload? {
        guard let event = self.nextEvent() else { return nil }
        guard case .payload(let message) = event, case .text = message.kind else {
            self.eventBehindRun = event
            return nil
        }
        return message
    }

    /// Records the head of the answer; `now` is the present time.
    ///
    /// The stage says then whether it is the response: an established WebSocket, or an event stream.
    mutating func opened(_ head: ResponseHead, at now: Duration) {
        self.head = head
        switch self.transport {
        case .webSocket where head.statusCode == 101: self.stage = .streaming
        case .httpSSE where head.mayHaveEventStream && head.isEventStream: self.stage = .streaming
        case .httpSSE where head.mayHaveEventStream && head.hasGeneralType: self.stage = .undecided
        case .webSocket, .httpSSE: self.refused(at: now)
        }
    }

    private mutating func refused(at now: Duration) {
        self.stage = .refused
        self.refusedAt = now
        self.requestedAt = self.requestedAt ?? now
    }

    /// Takes a piece of a body with a general content type, whose beginning decides what it is.
    ///
    /// - Parameters:
    ///   - bytes: the piece.
    ///   - limit: the number of bytes that are kept of a refusal.
    ///   - now: the present time.
    /// - Returns: the beginning of an event stream; nil for any other body, which is a refusal, and while it is
    ///   undecided.
    mutating func decide(on bytes: UnsafeRawBufferPointer, limit: Int, at now: Duration) -> [UInt8]? {
        let body = unsafe EventStreamBeginning(self.refusal + bytes)
        self.refusal = body.bytes
        switch body.kind {
        case .unknown: return nil
        case .eventStream:
            self.stage = .streaming
            self.refusal = []
            return body.bytes
        case .other:
            self.refusal.removeLast(max(0, self.refusal.count - limit))
            self.refused(at: now)
            return nil
        }
    }

    /// An event of the other attempt of a race, on whose connection no request was sent.
    enum RaceEvent {
        /// The connection is established, and its request is held.
        case ready
        /// The upgrade has opened.
        case opened
        /// The attempt has failed.
        case failed(AttemptFailure)
    }

    /// Takes an event of the connection, as the other attempt of a race; nil when there is none.
    func nextInRace() -> RaceEvent? {
        switch self.connection.next() {
        case nil:
            return nil
        case .ready:
            return .ready
        case .opened(let head):
            guard self.transport == .webSocket else {
                return .failed(.httpStatus(RefusalFacts(statusCode: head.statusCode)))
            }
            return head.statusCode == 101 ? .opened : .failed(.upgradeStatus(RefusalFacts(statusCode: head.statusCode)))
        case .ended(let end):
            return .failed(AttemptFailure(end, beforeFirstEvent: true))
        case .payload, .pong:
            return .failed(.undecodableEvent)
        }
    }

    /// Records an event that is output, or counts as progress.
    mutating func progressed(at now: Moment) {
        self.lastEvent = now
        self.lastProgress = now
        self.isKnownToStall = false
    }

    /// Returns the attempt's number while further events only postpone its deadlines; nil while they may add one.
    ///
    /// A stall that was reported is awaited again after the next event. A function that mutates, because a property is
    /// read from a copy of the whole attempt.
    @inline(__always)
    mutating func numberIfOnlyPostponingInPlace() -> Int? {
        self.stage == .streaming && self.lastProgress != nil && !self.isKnownToStall && self.steeredAt == nil
            ? self.number : nil
    }

    /// Fails a WebSocket for a text message that is not UTF-8 (RFC 6455 section 8.1).
    mutating func refusesText() {
        guard self.transport == .webSocket else { return }
        self.connection.fail(code: 1007)
        self.closesByItself = true
    }

    /// Indicates whether the head claims success and the content is not an event stream, as far as is known.
    var isOtherContent: Bool {
        self.transport == .httpSSE && self.isWithoutResponse && self.head?.mayHaveEventStream == true
    }

    /// Indicates whether the answer is not the response, as far as is known.
    var isWithoutResponse: Bool { self.stage == .refused || self.stage == .undecided }

    /// Keeps a piece of a refusal's body, up to a limit in bytes.
    ///
    /// - Returns: whether no more will be kept.
    mutating func collect(_ bytes: UnsafeRawBufferPointer, limit: Int) -> Bool {
        let room = max(0, limit - self.refusal.count)
        unsafe self.refusal.append(contentsOf: bytes.prefix(room))
        return bytes.count >= room
    }

    /// Keeps the beginning of a body that begins as JSON, HTML or gzip does rather than as an event stream, up to a limit
    /// in bytes.
    ///
    /// The content type is that of an event stream; no part of a real event stream is kept.
    mutating func keepOtherDocument(_ bytes: UnsafeRawBufferPointer, limit: Int) {
        guard !self.hasEvents, self.refusal.count < limit else { return }
        if self.refusal.isEmpty {
            // A byte order mark and blanks may come first.
            let first = unsafe bytes.first { ![0x09, 0x0A, 0x0C, 0x0D, 0x20, 0xEF, 0xBB, 0xBF].contains($0) }
            guard first.map({ "{[<\u{1F}".utf8.contains($0) }) == true else { return }
        }
        unsafe self.refusal.append(contentsOf: bytes.prefix(limit - self.refusal.count))
    }

    /// Returns whether the body, which has no event, is JSON or HTML in place of an event stream: then it is the
    /// server's message about the error.
    mutating func isOtherDocument() -> Bool {
        guard self.stage == .streaming, self.transport == .httpSSE, !self.hasEvents, !self.refusal.isEmpty else {
            return false
        }
        let isPage = WebPage(String(decoding: self.refusal, as: UTF8.self)) != nil
        guard isPage || ServerErrorFacts.words(inJSON: self.refusal) != nil else { return false }
        self.isPage = isPage
        return true
    }
}

extension ResponseHead {
    /// Indicates whether the status code is one behind which an event stream is read.
    ///
    /// Beside 200 these are 201, with which some servers answer a POST, and 203, which a proxy that changes the content
    /// answers in place of 200 (RFC 9110 section 15.3.4).
    package var mayHaveEventStream: Bool { [200, 201, 203].contains(self.statusCode) }

    /// Indicates whether the content type is `text/event-stream`, or absent: some servers name none.
    package var isEventStream: Bool {
        self.value(of: "content-type") == nil || self.mediaType == "text/event-stream"
    }

    /// Indicates whether the content type is one that is given to a body of an unknown kind.
    ///
    /// Such a body is read as an event stream where its beginning is that of one (`EventStreamBeginning`).
    package var hasGeneralType: Bool {
        self.mediaType == "text/plain" || self.mediaType == "application/octet-stream"
    }

    /// Indicates whether the body may have text for a person: JSON (RFC 8259 section 11, RFC 6839 section 3.1), a page
    /// or text.
    var hasWords: Bool {
        guard let mediaType = self.mediaType else { return false }
        return ["application/json", "text/plain"].contains(mediaType) || mediaType.hasSuffix("+json")
            || WebPage.isContentType(mediaType)
    }
}
