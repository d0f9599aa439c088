// Random outcomes of the opening of a connection.

import StreamTransport

/// Draws what happens before an answer.
struct ConnectDrawing {
    let isWebSocket: Bool
    /// Indicates whether a wait without events would end.
    let allowsSilence: Bool
    let allowsHangingBody: Bool
    var random: SimulatedRandom
    private(set) var facts: [SimulatedFact] = []

    init(isWebSocket: Bool, allowsSilence: Bool, allowsHangingBody: Bool, random: SimulatedRandom) {
        self.isWebSocket = isWebSocket
        self.allowsSilence = allowsSilence
        self.allowsHangingBody = allowsHangingBody
        self.random = random
    }

    /// One outcome; `faultPercent` says how often it is a bad one.
    mutating func draw(faultPercent: Int) -> ConnectOutcome {
        guard self.random.chance(faultPercent) else { return .established }
        if self.random.chance(45) { return self.refusal() }
        if self.allowsSilence, self.random.chance(12) {
            self.facts.append(.connectHangs)
            return .silent
        }
        let (fact, failure) = self.random.pick(self.isWebSocket ? Self.upgradeFailures : Self.postFailures)
        self.facts.append(fact)
        return .failed(failure)
    }

    private typealias Failure = (SimulatedFact, TransportFailure)

    private static let failures: [Failure] = [
        (.unresolvable, TransportFailure(phase: .resolve, cause: .unresolvable(code: -2))),
        (.nameServiceAway, TransportFailure(phase: .resolve, cause: .unresolvable(code: -3))),
        (.unreachable, TransportFailure(phase: .connect, cause: .unreachable(code: 111))),
        (.networkAway, TransportFailure(phase: .connect, cause: .unreachable(code: 101))),
        (.connectTimeOut, TransportFailure(phase: .connect, cause: .timedOut)),
        (.proxyRefuses, TransportFailure(phase: .proxy, cause: .connectionLost)),
        (.connectionLostInTLS, TransportFailure(phase: .tls, cause: .connectionLost)),
        (.tlsFails, TransportFailure(phase: .tls, cause: .tlsHandshakeFailed)),
        (.certificateRejected, TransportFailure(phase: .tls, cause: .certificateRejected(code: 10))),
        (.resetInUpgrade, TransportFailure(phase: .upgrade, cause: .connectionLost)),
        (.notHTTP, TransportFailure(phase: .upgrade, cause: .notHTTP)),
        (.headerSectionTooLarge, TransportFailure(phase: .upgrade, cause: .headerSectionTooLarge(limit: 65_536))),
        (.unsupportedTransferCoding, TransportFailure(phase: .upgrade, cause: .unsupportedTransferCoding)),
        (.serviceUnavailable, TransportFailure(phase: .connect, cause: .unavailable)),
    ]

    private static let upgradeFailures: [Failure] =
        Self.failures + [
            (.wrongAccept, TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(.accept))),
            (.wrongUpgradeField, TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(.upgrade))),
            (.wrongExtensions, TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(.extensions))),
            (.interimResponse, TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(.interimResponse))),
        ]

    private static let postFailures: [Failure] =
        Self.failures + [
            (.lostWhileSending, TransportFailure(phase: .send, cause: .connectionLost)),
            (.unsupportedContentCoding, TransportFailure(phase: .upgrade, cause: .unsupportedContentCoding)),
        ]

    // MARK: Refusals

    private static let upgradeStatuses: [(SimulatedFact, Int)] = [
        (.upgrade200, 200), (.upgrade400, 400), (.upgrade401, 401), (.upgrade403, 403), (.upgrade404, 404),
        (.upgrade405, 405), (.upgrade408, 408), (.upgrade426, 426), (.upgrade429, 429), (.upgrade500, 500),
        (.upgrade501, 501), (.upgrade503, 503),
    ]

    private static let postStatuses: [(SimulatedFact, Int)] = [
        (.post400, 400), (.post401, 401), (.post403, 403), (.post404, 404), (.post408, 408), (.post409, 409),
        (.post429, 429), (.post500, 500), (.post502, 502), (.post503, 503), (.post529, 529),
    ]

    private mutating func refusal() -> ConnectOutcome {
        let (fact, status) = self.random.pick(self.isWebSocket ? Self.upgradeStatuses : Self.postStatuses)
        self.facts.append(fact)
        return .refused(status: status, self.body(for: status))
    }

    private mutating func body(for status: Int) -> RefusalBody {
        var body = RefusalBody()
        var ofFields = DelayRules.Hint()
        ofFields.isThrottle = status == 429
        ofFields.hasFullJitter = !self.isWebSocket
        if self.random.chance(25) {
            let seconds = self.random.pick([0, 1, 7, 90])
            body.fields.append(HTTPField("retry-after", "\(seconds)"))
            ofFields.wish = seconds == 0 ? nil : .seconds(seconds)
            self.facts.append(.retryAfter)
        }
        var ofBody = ofFields
        self.fill(&body, hint: &ofBody, status: status)
        body.hints = [ofBody, ofFields]
        self.drawEnd(of: &body)
        return body
    }

    private mutating func fill(_ body: inout RefusalBody, hint: inout DelayRules.Hint, status: Int) {
        switch self.random.below(status == 429 ? 6 : 4) {
        case 0:
            self.facts.append(.refusalBodyEmpty)
        case 1:
            body.bytes = Array("<!doctype html><title>\(status)</title>".utf8)
            self.facts.append(.refusalBodyHTML)
        case 2:
            body.bytes = Array("{\"error\":{\"message\":\"\(String(repeating: "long ", count: 40))\"}}".utf8)
            self.facts.append(.refusalBodyLong)
        case 3:
            body.bytes = Array("{\"error\":{\"type\":\"some_error\",\"message\":\"no\"}}".utf8)
        default:
            let seconds = self.random.pick([2, 9, 3_600])
            body.bytes = Array(
                "{\"error\":{\"type\":\"usage_limit_reached\",\"message\":\"m\",\"resets_in_seconds\":\(seconds)}}".utf8
            )
            hint.resetsAfter = .seconds(seconds)
            hint.isThrottle = true
            self.facts.append(.refusalBodyUsageLimit)
        }
    }

    private mutating func drawEnd(of body: inout RefusalBody) {
        guard self.random.chance(20) else { return }
        if self.allowsHangingBody, self.random.chance(50) {
            body.end = nil
            self.facts.append(.refusalBodyHangs)
        } else {
            body.bytes = Array(body.bytes.prefix(self.random.below(body.bytes.count + 1)))
            body.end = .failed(TransportFailure(phase: .firstEvent, cause: .connectionLost))
            self.facts.append(.refusalBodyCut)
        }
    }
}
