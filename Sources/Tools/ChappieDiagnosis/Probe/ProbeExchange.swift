import LibwebsocketsTransport
import StreamTransport

/// One exchange of an examination, each wait of which has a deadline.
///
/// It belongs to the task of the examination, which calls `end()`.
struct ProbeExchange {
    /// An event, with a copy of its bytes.
    enum Event: Equatable {
        case ready
        case pong
        case opened(ResponseHead)
        case payload([UInt8])
        case ended(TransportEnd)

        init(_ event: TransportEvent) {
            switch event {
            case .ready: self = .ready
            case .pong: self = .pong
            case .opened(let head): self = .opened(head)
            case .payload(let payload): unsafe self = .payload(Array(payload.bytes))
            case .ended(let end): self = .ended(end)
            }
        }
    }

    /// The outcome of an attempt to establish a connection.
    enum Establishment {
        /// It was established, after this time.
        case established(Duration)
        /// It was not.
        case failed(TransportFailure)
    }

    /// The outcome of a request.
    enum Answer {
        /// The head arrived, and of the body at most 16 KiB.
        case answered(ResponseHead, body: [UInt8])
        /// The exchange failed before the head.
        case failed(TransportFailure)
    }

    /// An answer, and whether all of it came.
    struct Reply {
        let answer: Answer
        /// Indicates whether the body had neither ended nor reached its limit when the time was over.
        let isHeldBack: Bool
    }

    /// The most bytes of a body that are kept.
    static let bodyByteCountLimit = 16 << 10

    /// The connection.
    let connection: any TransportConnection

    /// Returns the next event; nil when the deadline has passed.
    ///
    /// After the deadline it returns events that have arrived for no longer than the margin: a peer may send without
    /// end. An event that ends a wait is returned however late the processor is.
    func next(by deadline: ContinuousClock.Instant) async throws -> Event? {
        try Task.checkCancellation()
        guard .now < deadline + Self.margin else { return nil }
        while true {
            if let event = self.connection.next() { return Event(event) }
            let remaining = deadline - .now
            guard remaining > .zero else { return nil }
            _ = await self.connection.wait(for: remaining)
            try Task.checkCancellation()
        }
    }

    /// Ends the exchange.
    func end() { self.connection.cancel() }

    // MARK: Whole exchanges

    /// Establishes a connection, with every layer that an endpoint has, and sends nothing on it.
    static func establish(
        _ endpoint: TransportEndpoint, by transport: LibwebsocketsTransport, within duration: Duration,
        observer: @escaping @Sendable (TLSOutcome) -> Void = { _ in }
    ) async throws -> Establishment {
        var request = TransportRequest(endpoint: endpoint, exchange: .post(body: []))
        // Of a held request no byte is written.
        request.isHeld = true
        request.timeouts.connect = duration
        let exchange = Self(connection: transport.connect(request, observer: observer))
        defer { exchange.end() }
        switch try await exchange.next(by: .now + duration + Self.margin) {
        case .ready?: return .established(exchange.connection.statistics.connected ?? .zero)
        case .ended(.failed(let failure))?: return .failed(failure)
        default: return .failed(TransportFailure(phase: .connect, cause: .timedOut))
        }
    }

    /// Makes a request, and returns its answer.
    static func answer(
        to request: TransportRequest, by transport: LibwebsocketsTransport, within duration: Duration
    ) async throws -> Answer {
        try await Self.reply(to: request, by: transport, within: duration).answer
    }

    /// Makes a request, and returns its answer, and whether all of it came.
    static func reply(
        to request: TransportRequest, by transport: LibwebsocketsTransport, within duration: Duration
    ) async throws -> Reply {
        var request = request
        request.timeouts.connect = duration
        let exchange = Self(connection: transport.connect(request))
        defer { exchange.end() }
        let deadline = ContinuousClock.now + duration
        var head: ResponseHead?
        var body: [UInt8] = []
        while let event = try await exchange.next(by: deadline), body.count < Self.bodyByteCountLimit {
            switch event {
            case .opened(let opened): head = opened
            case .payload(let bytes): body += bytes.prefix(Self.bodyByteCountLimit - body.count)
            case .ended(let end): return Reply(answer: Self.answer(head, body, end), isHeldBack: false)
            case .ready, .pong: break
            }
        }
        let failure = TransportFailure(phase: .upgrade, cause: .timedOut)
        return Reply(
            answer: head.map { .answered($0, body: body) } ?? .failed(failure),
            isHeldBack: head != nil && body.count < Self.bodyByteCountLimit)
    }

    private static func answer(_ head: ResponseHead?, _ body: [UInt8], _ end: TransportEnd) -> Answer {
        if let head { return .answered(head, body: body) }
        guard case .failed(let failure) = end else {
            return .failed(TransportFailure(phase: .upgrade, cause: .connectionLost))
        }
        return .failed(failure)
    }

    /// The time after which the transport itself should have reported its time limit, with the phase.
    static let margin = Duration.milliseconds(100)
}
