// Checks a turn's output and end.

import ChappieTransport
import Foundation

/// Judges what a consumer saw.
struct OutcomeCheck {
    let input: EngineInput
    let outcome: EngineOutcome

    func check() {
        require(self.outcome.report.map { $0.attempts.count <= 1 } == true, "no report, or more attempts than one")
        self.checkError()
        self.checkLimits()
        switch self.input.mode {
        case .scripted: self.checkScript()
        case .lines: self.checkOrder(ServerBytes.lines(of: self.input.content))
        case .headed where !self.input.isWebSocket:
            self.checkOrder(EventStreamOracle.data(of: self.input.content))
        case .headed: self.checkFrames()
        case .raw: break
        }
    }

    /// Checks a turn whose time was over before its connection was made, as can happen on a busy machine.
    func checkUnconnected() {
        require(self.input.isGivenUp, "a turn ends without a connection")
        require((self.outcome.report?.attempts.count ?? 0) <= 1, "more attempts than one")
        require(self.outcome.deltas.isEmpty && !self.outcome.isCompleted, "output without a connection")
        guard case .transport(let failure)? = self.outcome.error as? ChappieClientError, failure.code == .timedOut
        else {
            return require(false, "no time-out: \(String(describing: self.outcome.error))")
        }
    }

    private var limit: Int { self.input.hasSmallLimits ? EngineLimits.small : 64 << 20 }

    private func checkError() {
        guard let error = self.outcome.error else { return }
        if error is CancellationError { return require(self.input.ending == .cancel, "cancelled by nobody") }
        guard let error = error as? ChappieClientError else { return require(false, "an undocumented error: \(error)") }
        switch error {
        case .httpError(let status, let body):
            // Bytes that are not UTF-8 become characters of three bytes.
            let limit = self.input.hasSmallLimits ? EngineLimits.small : 64 << 10
            require(body.utf8.count <= limit * 3, "\(body.utf8.count) bytes of a body")
            require((100...999).contains(status), "the status code \(status)")
        case .transport(let failure): self.check(failure)
        case .responseTerminalFailure, .usageLimitReached, .reauthenticationRequired, .invalidResponse:
            break
        case .missingCredential, .missingRefreshToken, .missingAccountID, .missingToolHandler, .toolApprovalDenied,
            .toolExecutionFailed, .toolLoopLimitExceeded, .streamingTransportReplayDiverged, .alreadyRunning,
            .alreadyRead, .runTimeLimitExceeded, .requestRefused:
            require(false, "an error that has no reason: \(error)")
        }
    }

    private func check(_ failure: ChappieTransportFailure) {
        require(failure.attempts == 1, "\(failure.attempts) attempts")
        let impossible: Set<ChappieTransportFailure.Code> = [
            .invalidRequest, .unresolvable, .certificateRejected, .keyNotPinned, .tlsHandshakeFailed,
            .trustAnchorsUnreadable, .clientCertificateUnreadable, .proxyInvalid, .proxyRefused, .notSOCKS,
            .descriptorsExhausted, .peerUnresponsive, .requestTooLarge, .sequenceGap, .responseExpired, .circuitOpen,
            .shutDown, .unavailable,
        ]
        require(!impossible.contains(failure.code), "a failure that has no reason: \(failure)")
        // A server that does not wait for the request may reset the connection while it is being made.
        let mayBeUnreachable = self.input.isEarly && self.input.ending == .reset
        require(failure.code != .unreachable || mayBeUnreachable, "no connection: \(failure)")
        require(
            failure.code != .timedOut || self.input.isGivenUp, "the turn waits for a server that is gone: \(failure)")
    }

    private func checkLimits() {
        guard self.input.hasSmallLimits else { return }
        require(self.outcome.rawByteCount <= EngineLimits.small, "a raw event above the limit")
        let longest = self.outcome.deltas.map(\.text.count).max() ?? 0
        require(longest <= EngineLimits.small, "a delta above the limit")
    }

    /// All of a response without a fault, or a beginning of it when the server or the consumer broke it off.
    private func checkScript() {
        let expected = self.input.script.output
        let found = self.outcome.deltas
        require(expected.starts(with: found), "\(found) is no beginning of \(expected)")
        guard self.input.mustComplete || self.outcome.isCompleted else { return }
        require(self.outcome.isCompleted, "not completed: \(String(describing: self.outcome.error))")
        require(found == expected, "only \(found.count) of \(expected.count) deltas")
    }

    /// Checks that each delta is that of an event, in the order of the events, and without repetition.
    ///
    /// Additions by closing events are judged by the oracle in Tests/Engine/Promise only.
    private func checkOrder(_ events: [[UInt8]]) {
        var events = events.map(EventDelta.init)[...]
        let mayAdd = events.contains { if case .closing = $0 { true } else { false } }
        var last: EventDelta?
        for delta in self.outcome.deltas {
            // Half of a surrogate pair at the end of a delta comes behind it; Foundation reads no such JSON.
            if case .unknown? = last.take(), delta.text.elementsEqual("\u{FFFD}".utf8) { continue }
            let rest = events.drop { !$0.mayBe(delta) }
            if rest.isEmpty, mayAdd { continue }
            events = rest
            last = events.popFirst()
            require(last != nil, "\(delta) comes from no event, or again")
        }
    }

    /// The messages are those of the frames, and so is the end when it is the connection's.
    private func checkFrames() {
        // Which frames are compressed is known to the head alone.
        if self.input.shape & 1 != 0, self.input.offersCompression { return }
        let frames = FrameOracle(self.input.content, limit: self.limit)
        self.checkOrder(frames.texts)
        guard self.input.ending == .close else { return }
        let end = self.connectionEnd
        let mayBeViolated = frames.hasImpossibleText && end == .violation
        require(
            end == nil || end == frames.end || mayBeViolated,
            "the frames end with \(frames.end), and not so: \(self.errorText)")
        guard frames.texts.isEmpty, !frames.hasBinary else { return }
        require(end != nil, "no message, and another end than the connection's: \(self.errorText)")
    }

    /// The end of the connection, when that ended the turn.
    private var connectionEnd: FrameOracle.End? {
        guard case .transport(let failure)? = self.outcome.error as? ChappieClientError else { return nil }
        switch failure.code {
        case .protocolViolation: return .violation
        case .eventTooLarge: return .tooLarge
        case .webSocketClosed:
            return failure.details.closeCode == 1_006 ? .lost : .closed(failure.details.closeCode ?? 0)
        default: return nil
        }
    }

    private var errorText: String { String(describing: self.outcome.error) }
}

/// The delta in the JSON of an event, as Foundation reads it.
private enum EventDelta {
    case none
    case some(ConsumedDelta)
    /// The end of a part, an item or the response, which may have more than the deltas.
    case closing
    /// Foundation reads some JSON differently.
    case unknown

    init(_ json: [UInt8]) {
        guard json.firstRange(of: [0xEF, 0xBB, 0xBF]) == nil,
            let object = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
        else {
            self = .unknown
            return
        }
        let kinds: [String: ConsumedDelta.Kind] = [
            "response.output_text.delta": .text, "response.refusal.delta": .refusal,
            "response.reasoning_text.delta": .reasoning, "response.reasoning_summary_text.delta": .reasoning,
        ]
        guard let type = object["type"] as? String, let kind = kinds[type], let text = object["delta"] as? String
        else {
            let type = object["type"] as? String ?? ""
            let isClosing = type.hasSuffix(".done") || ["response.completed", "response.incomplete"].contains(type)
            self = isClosing ? .closing : .none
            return
        }
        self = .some(ConsumedDelta(kind: kind, text: Array(text.utf8)))
    }

    func mayBe(_ delta: ConsumedDelta) -> Bool {
        switch self {
        case .none, .closing: false
        case .some(let known): known == delta
        case .unknown: true
        }
    }
}
