import ChappieTransport
import HTTPProtocol
import LibwebsocketsTransport
import PathDiagnosis
import PlatformFoundation
import StreamTransport
import TransportSurface

/// An opening handshake of an examination, and the WebSocket that it has established.
///
/// It belongs to the task of the examination, which ends its exchange.
struct ProbeSocket {
    let exchange: ProbeExchange
    /// The outcome of the handshake.
    let handshake: UpgradeFacts.Handshake
    /// Indicates whether a refusal has the words of something on the path, or the fields of a proxy.
    var isOfPath = false
    /// Indicates whether a refusal has passed a proxy that names itself (RFC 9110 section 7.6.3).
    var hasVia = false
    /// The seconds after which a refusal asks for another attempt; nil without them.
    var retryAfter: Int?
    /// Indicates whether the server has accepted compression.
    var isCompressed = false
    /// The code with which the WebSocket was closed at once; nil while it is open, or when it was not established.
    var closeCode: UInt16?
    /// The time at which the handshake was complete.
    var opened = ContinuousClock.now
    /// The time at which the wait for an immediate close was over.
    var judged = ContinuousClock.now

    /// Indicates whether the WebSocket was established, and not closed at once.
    var isOpen: Bool { self.handshake == .established && self.closeCode == nil }

    /// Indicates whether an intermediary that breaks compression may be the cause of the failure.
    var mayFailByCompression: Bool {
        switch self.handshake {
        case .established: self.closeCode != nil
        case .altered, .cut: true
        case .refused, .announcesContent, .timedOut: false
        }
    }

    /// Sends an upgrade, and waits for its answer and for an immediate close.
    static func open(
        _ requests: ProbeRequests, _ credential: ChappieCredential?, isCompressed: Bool,
        by transport: LibwebsocketsTransport, within duration: Duration
    ) async throws -> Self {
        guard
            var request = requests.upgrade(
                credential: credential, isCompressed: isCompressed, capturing: Self.capturedFieldNames)
        else { preconditionFailure("an examination opens no WebSocket that the policy forbids") }
        request.timeouts.connect = duration
        // Only the examination's own pings are measured.
        request.timeouts.pingInterval = nil
        let exchange = ProbeExchange(connection: transport.connect(request))
        switch try await exchange.next(by: .now + duration + ProbeExchange.margin) {
        case .opened(let head)? where head.statusCode == 101:
            var socket = Self(exchange: exchange, handshake: .established, isCompressed: head.isCompressed)
            try await socket.awaitClose()
            return socket
        case .opened(let head)?:
            let isPage = WebPage.isContentType(head.mediaType)
            var socket = Self(exchange: exchange, handshake: .refused(statusCode: head.statusCode, isPage: isPage))
            socket.hasVia = head.value(of: "via") != nil
            socket.retryAfter = head.secondsOfRetry
            let isOfProxy = Self.fieldNamesOfProxies.contains { head.value(of: $0) != nil }
            socket.isOfPath = try await socket.hasWordsOfPath() || isOfProxy
            return socket
        case .ended(.failed(let failure))?: return Self(exchange: exchange, handshake: failure.upgrade)
        case nil: return Self(exchange: exchange, handshake: .timedOut)
        default: return Self(exchange: exchange, handshake: .cut)
        }
    }

    private static let fieldNamesOfProxies = ["proxy-authenticate", "proxy-connection", "proxy-agent"]
    private static let capturedFieldNames =
        ["content-type", "via", "retry-after", "retry-after-ms"] + Self.fieldNamesOfProxies

    /// Returns whether the body of a refusal, as far as it comes at once, is a page that blocks or on which one signs
    /// in.
    private func hasWordsOfPath() async throws -> Bool {
        var body: [UInt8] = []
        let deadline = self.opened + ExaminationPace.earlyClose
        reading: while body.count < ProbeExchange.bodyByteCountLimit,
            let event = try await self.exchange.next(by: deadline)
        {
            switch event {
            case .payload(let bytes): body += bytes.prefix(ProbeExchange.bodyByteCountLimit - body.count)
            case .ended: break reading
            case .ready, .opened, .pong: break
            }
        }
        let text = String(decoding: body, as: UTF8.self)
        guard let page = WebPage(text) else { return false }
        return page == .cloudflareBlock || HTTPFacts.Body(page: text) != .page
    }

    private mutating func awaitClose() async throws {
        let deadline = self.opened + ExaminationPace.earlyClose
        while let event = try await self.exchange.next(by: deadline) {
            guard case .ended(let end) = event else { continue }
            self.closeCode = end.closeCode
            break
        }
        self.judged = .now
    }

    /// Returns the time of the wait for an immediate close.
    func timeOfClose(_ examination: Examination) -> StepTime {
        StepTime(start: self.opened - examination.started, duration: self.judged - self.opened)
    }

    /// Sends a message that a probe server returns, and waits for it.
    ///
    /// A message of which bytes still arrive at the deadline is slow, and none that did not come back.
    func echo(byteCount: Int, by deadline: ContinuousClock.Instant) async throws -> MessageFacts.Echo {
        let message = Self.text(byteCount: byteCount)
        let sent = ContinuousClock.now
        self.exchange.connection.send(message, as: .text)
        if let echo = try await self.echo(of: message, since: sent, by: deadline - ExaminationPace.progress) {
            return echo
        }
        let count = self.exchange.connection.statistics.receivedByteCount
        if let echo = try await self.echo(of: message, since: sent, by: deadline) { return echo }
        return self.exchange.connection.statistics.receivedByteCount > count ? .slow : .timedOut
    }

    /// Waits for the return of a message; nil when the deadline has passed.
    private func echo(
        of message: [UInt8], since sent: ContinuousClock.Instant, by deadline: ContinuousClock.Instant
    ) async throws -> MessageFacts.Echo? {
        while let event = try await self.exchange.next(by: deadline) {
            switch event {
            case .payload(let bytes): return bytes == message ? .returned(.now - sent) : .damaged
            case .ended(.failed(let failure)) where failure.isOfBytes: return .damaged
            case .ended(let end): return .closed(code: end.closeCode)
            case .ready, .opened, .pong: break
            }
        }
        return nil
    }

    /// Returns text that compresses by half at most, the same for the same size.
    private static func text(byteCount: Int) -> [UInt8] {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<byteCount).map { _ in
            // The constants are Knuth's, of a linear congruential generator.
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return 0x20 + UInt8(truncatingIfNeeded: (state >> 33) % 95)
        }
    }

    /// The outcome of a ping.
    enum Ping: Equatable {
        /// It was answered after this time.
        case answered(Duration)
        /// The WebSocket has ended before an answer; the close code, 1006 for the end of TCP.
        case closed(code: UInt16)
        /// No answer came in time.
        case timedOut
    }

    /// Sends a ping, and waits for its answer.
    func ping(by deadline: ContinuousClock.Instant) async throws -> Ping {
        let sent = ContinuousClock.now
        self.exchange.connection.ping()
        while let event = try await self.exchange.next(by: deadline) {
            switch event {
            case .pong: return .answered(.now - sent)
            case .ended(let end): return .closed(code: end.closeCode)
            case .ready, .opened, .payload: break
            }
        }
        return .timedOut
    }
}

extension TransportFailure {
    /// Indicates whether the peer's bytes cannot be read.
    fileprivate var isOfBytes: Bool {
        switch self.cause {
        case .corruptContentCoding, .protocolViolation: true
        default: false
        }
    }
}

extension ResponseHead {
    /// The seconds of `Retry-After`, rounded up; nil without the field.
    var secondsOfRetry: Int? {
        let fields = ["retry-after-ms", "retry-after"].compactMap { name in
            self.value(of: name).map { (name: name, value: $0) }
        }
        let delay = RetryDelay.milliseconds(headers: fields, now: Int(Date().timeIntervalSince1970))
        return delay.map { ($0 + 999) / 1_000 }
    }
}

extension TransportEnd {
    /// The close code of a WebSocket's end: 1006 for the end of the connection.
    var closeCode: UInt16 {
        switch self {
        case .closed(let code, _): code
        case .complete, .failed: 1006
        }
    }
}
