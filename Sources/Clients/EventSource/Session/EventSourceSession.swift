package import ServerSentEvents
package import StreamSession
package import StreamTransport

/// Decides what an event source does next: WHATWG HTML section 9.2.
///
/// It performs no I/O, reads no clock and starts no task; time and randomness are passed in. Its owner is the event
/// source's one consumer.
///
/// An attempt is one request with all its redirects. Between an attempt's `connect` and its end there is one
/// connection, so that no input arrives late.
package struct EventSourceSession: Sendable {
    /// The progress of an event source (`EventSource.readyState`).
    private enum State: Sendable, Equatable {
        case idle
        /// A request is sent, and its answer awaited.
        case connecting
        /// The answer is an event stream.
        case streaming
        /// The answer is a refusal, of which the beginning is read.
        case refused(AttemptFailure)
        /// The delay before the next attempt is waited for.
        case waiting
        case ended
    }

    /// The moment of an input.
    package struct Moment: Sendable, Equatable {
        /// The time since a fixed moment.
        package var now: Duration
        /// Randomness, from 0 to 1.
        package var fraction: Double

        /// Creates a moment.
        package init(now: Duration, fraction: Double = 0) {
            self.now = now
            self.fraction = fraction
        }
    }

    /// The settings of an event source.
    package struct Settings: Sendable {
        /// The rules for reconnecting.
        package var reconnection = EventSourceReconnectionPolicy()
        /// The maximum number of redirects of one attempt (WHATWG Fetch, "HTTP-redirect fetch").
        ///
        /// Default 20.
        package var maximumRedirects = 20
        /// The names, in lower case, of fields that are dropped at another origin beside those that always count as
        /// secrets (`FieldSecrets`).
        package var credentialFieldNames: Set<String> = []
        /// The maximum size of one event, in bytes.
        ///
        /// Default 64 MiB.
        package var eventByteCount = 64 << 20

        /// Creates the default settings.
        package init() {}
    }

    private let settings: Settings
    private var state = State.idle
    private var parser: EventStreamParser
    private var schedule: ReconnectionSchedule
    /// The request of an attempt, before its redirects.
    private var request: Exchange
    private var chain: RedirectChain
    /// The number of the attempt; counts from 1.
    package private(set) var attempt = 0
    /// Indicates whether the current attempt has brought an event, a comment or a reconnection time.
    private var hasWorked = false
    /// Indicates whether the event source has ended behind a complete answer because the policy, which allows
    /// reconnections, allows no other one (`EventSourceReport.hasGivenUp`).
    package private(set) var hasGivenUp = false

    /// Creates the session of a request that is not sent yet.
    package init(_ request: Exchange, lastEventID: String = "", settings: Settings = Settings()) {
        self.settings = settings
        self.request = request
        self.chain = RedirectChain(request, credentialFieldNames: settings.credentialFieldNames)
        self.parser = EventStreamParser(maximumEventByteCount: settings.eventByteCount, lastEventID: lastEventID)
        self.schedule = ReconnectionSchedule(settings.reconnection)
    }

    /// The last event ID string, which reconnections send.
    package var lastEventID: String { self.parser.lastEventID }

    /// The reconnection time that the stream has set; nil without one.
    package var reconnectionTime: Duration? { self.parser.reconnectionTime }

    /// The request that was sent last.
    package var exchange: Exchange { self.chain.exchange }

    /// The number of redirects of the current attempt.
    package var redirectCount: Int { self.chain.count }

    /// Indicates whether the event source has ended.
    package var hasEnded: Bool { self.state == .ended }

    // MARK: Connecting

    /// Starts the event source.
    package mutating func start() -> Action {
        guard self.state == .idle else { preconditionFailure("the event source was started before") }
        return self.connect()
    }

    /// Starts the next attempt, behind the delay of `.wait`.
    package mutating func waited() -> Action {
        guard self.state == .waiting else { preconditionFailure("no delay was asked for") }
        return self.connect()
    }

    /// Reconnects at once, at the program's wish; the stream's rest is discarded.
    ///
    /// It follows the rules of `resending`: nil when the request is not to be repeated.
    package mutating func restart() -> Action? {
        guard self.state != .ended, self.state != .idle, let request = self.repeatedRequest(after: nil) else {
            return nil
        }
        _ = self.parser.finish()
        self.request = request
        return self.connect()
    }

    /// Indicates whether `restart()` would send the request again.
    package var canRestart: Bool {
        self.state != .ended && self.state != .idle && self.repeatedRequest(after: nil) != nil
    }

    private mutating func connect() -> Action {
        self.state = .connecting
        self.attempt += 1
        self.hasWorked = false
        var exchange = self.request
        if let id = Self.fieldValue(ofLastEventID: self.lastEventID) {
            exchange.fields.append(HTTPField("Last-Event-ID", id))
        }
        self.chain = RedirectChain(exchange, credentialFieldNames: self.settings.credentialFieldNames)
        return .connect(exchange)
    }

    /// The longest last event ID that is sent, in bytes: servers limit header sections to 8 KiB and more.
    package static let lastEventIDByteCountLimit = 4_096

    /// Returns the value of `Last-Event-ID`; nil for an empty ID, and for one that no field can carry.
    ///
    /// RFC 9110 section 5.5: of the control characters of ASCII a field value may have the tab alone; UTF-8 beyond ASCII,
    /// such as U+0085, is `obs-text`. Another ID, or one of more than 4 KiB, comes from the server and cannot be returned
    /// to it.
    private static func fieldValue(ofLastEventID id: String) -> String? {
        let isSendable =
            !id.isEmpty && id.utf8.count <= Self.lastEventIDByteCountLimit
            && id.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        return isSendable ? id : nil
    }

    /// Indicates whether there is a last event ID that reconnections cannot send.
    package var hasUnsendableLastEventID: Bool {
        !self.lastEventID.isEmpty && Self.fieldValue(ofLastEventID: self.lastEventID) == nil
    }

    // MARK: The answer

    /// Takes the head of an answer.
    ///
    /// - Parameters:
    ///   - head: the head, with all its fields.
    ///   - retryAfter: the delay of its `Retry-After`, if it has one.
    /// - Returns: the next step: another request, the reading of the content, or the end.
    package mutating func head(_ head: ResponseHead, retryAfter: Duration? = nil) -> Action {
        guard self.state == .connecting else { preconditionFailure("no answer was awaited") }
        switch head.statusCode {
        case 200:
            guard head.mediaType == "text/event-stream" else { return self.refused(.unexpectedContentType) }
            self.state = .streaming
            if let request = self.chain.lastingRequest { self.request = request.withoutLastEventID }
            return .readEvents
        case 204:
            // WHATWG HTML section 9.2.3: a server tells clients with 204 to stop reconnecting.
            self.state = .ended
            return .finish
        case 301, 302, 303, 307, 308:
            do throws(RedirectFault) {
                try self.chain.follow(head, maximum: max(0, self.settings.maximumRedirects))
                return .connect(self.chain.exchange)
            } catch {
                return self.fail(.redirect(error, statusCode: head.statusCode))
            }
        default:
            return self.refused(.httpStatus(RefusalFacts(statusCode: head.statusCode, retryAfter: retryAfter)))
        }
    }

    private mutating func refused(_ failure: AttemptFailure) -> Action {
        self.state = .refused(failure)
        return .readRefusal
    }

    /// Takes the end of a refusal's content, or of as much of it as is read.
    package mutating func refusalRead(at moment: Moment) -> Action {
        guard case .refused(let failure) = self.state else { preconditionFailure("no refusal was read") }
        return self.reestablish(after: failure, at: moment)
    }

    // MARK: The stream

    /// Parses bytes of the stream, and passes its events on.
    ///
    /// - Returns: nil; or the next step, when an event is larger than the limit.
    package mutating func receive(
        _ bytes: UnsafeRawBufferPointer, at moment: Moment, _ deliver: (ServerSentEventBytes) -> Void
    ) -> Action? {
        guard self.state == .streaming else { preconditionFailure("no stream is open") }
        var hasItem = false
        do throws(EventStreamError) {
            unsafe try self.parser.parse(bytes) { item in
                hasItem = true
                if case .event(let event) = unsafe item { unsafe deliver(event) }
            }
            if hasItem { self.noteItem() }
            return nil
        } catch {
            if hasItem { self.noteItem() }
            return self.reestablish(after: .eventTooLarge(limit: self.settings.eventByteCount), at: moment)
        }
    }

    private mutating func noteItem() {
        guard !self.hasWorked else { return }
        self.hasWorked = true
        self.schedule.worked()
    }

    // MARK: Ends

    /// Takes the end of the connection.
    package mutating func ended(_ end: TransportEnd, at moment: Moment) -> Action {
        switch self.state {
        case .refused(let failure):
            // The status code is known, and is more precise than the way the content ended.
            return self.reestablish(after: failure, at: moment)
        case .connecting, .streaming:
            switch end {
            case .failed(let failure): return self.reestablish(after: .transport(failure), at: moment)
            case .complete where self.state == .streaming && self.isBetweenEvents:
                return self.reestablish(after: nil, at: moment)
            case .complete, .closed: return self.reestablish(after: .endedEarly, at: moment)
            }
        case .idle, .waiting, .ended: preconditionFailure("there is no connection")
        }
    }

    /// Indicates whether no event is cut off, if the stream ends here.
    private var isBetweenEvents: Bool {
        var parser = self.parser
        return parser.finish() == .clean
    }

    /// Takes the end of a time budget of the attempt, or of the whole event source (`.total`).
    package mutating func timedOut(_ budget: AttemptFailure.TimeBudget, at moment: Moment) -> Action {
        if case .refused(let failure) = self.state, budget != .total {
            return self.reestablish(after: failure, at: moment)
        }
        return self.reestablish(after: .timeout(budget), at: moment)
    }

    /// Ends the event source, at the program's wish.
    package mutating func close() { self.state = .ended }

    // MARK: Reconnecting

    private mutating func fail(_ failure: Failure) -> Action {
        self.state = .ended
        return .fail(failure)
    }

    /// WHATWG HTML section 9.2.3, "reestablish the connection"; the failure is nil for a stream that ended in order.
    private mutating func reestablish(after failure: AttemptFailure?, at moment: Moment) -> Action {
        // An incomplete event is discarded (section 9.2.6).
        _ = self.parser.finish()
        if let failure, self.isFutile(failure) { return self.fail(.attempt(failure)) }
        let maximum = self.settings.reconnection.maximumRetryAfter
        let retryAfter = maximum == nil ? nil : failure?.retryAfter
        if let failure, let retryAfter, let maximum, retryAfter > maximum { return self.fail(.attempt(failure)) }
        let request = self.repeatedRequest(after: failure)
        let delay =
            request == nil
            ? nil
            : self.schedule.delay(
                wasFruitless: !self.hasWorked, streamTime: self.reconnectionTime, minimum: retryAfter, at: moment.now,
                fraction: moment.fraction)
        guard let request, let delay else {
            if let failure { return self.fail(.attempt(failure)) }
            self.hasGivenUp = request != nil && self.settings.reconnection.allowsReconnections
            self.state = .ended
            return .finish
        }
        self.request = request
        self.state = .waiting
        return .wait(delay, after: failure.map { .attempt($0) })
    }

    /// Indicates whether another attempt would end in the same way.
    private func isFutile(_ failure: AttemptFailure) -> Bool {
        if case .httpStatus(let facts) = failure {
            return !self.settings.reconnection.retriedStatusCodes.contains(facts.statusCode ?? 0)
        }
        switch failure.failureClass {
        case .definite, .fatal, .size, .credential, .usageLimit: return true
        case .probable, .offline, .transient, .server, .throttle: return false
        }
    }

    /// Returns the request of the next attempt; nil when it must not be sent again.
    private func repeatedRequest(after failure: AttemptFailure?) -> Exchange? {
        guard !self.request.isIdempotent else { return self.request }
        if let failure, !failure.mayFollowPOST, self.chain.count == 0 { return self.request }
        switch self.settings.reconnection.resending {
        case .never: return nil
        case .asGet: return self.lastEventID.isEmpty ? nil : self.request.asGet
        case .always: return self.request
        }
    }
}
