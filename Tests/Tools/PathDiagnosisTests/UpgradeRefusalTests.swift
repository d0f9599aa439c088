// Refused opening handshakes: the server's, or those of something on the path.
import PathDiagnosis
import Testing

@Suite struct UpgradeRefusalTests {
    private static func cause(
        _ statusCode: Int, isPage: Bool, isSame: Bool?
    ) -> (name: String?, evidence: [String]) {
        let facts = PathFacts.upgrade(.refused(statusCode: statusCode, isPage: isPage)).with {
            $0.upgrade = .found(
                .init(.refused(statusCode: statusCode, isPage: isPage), isSameWithoutUpgrade: isSame))
        }
        let report = PathJudge(facts).report
        #expect(report.verdict == .degraded && report.advice.usesHTTPOnly)
        return (report.causes.first?.name, report.causes.first?.evidence ?? [])
    }

    @Test(
        arguments: [
            (404, true, true, "web-socket.not-offered"), (405, true, true, "web-socket.not-offered"),
            (404, true, false, "web-socket.refused"), (403, true, false, "web-socket.refused"),
            (403, false, false, "web-socket.refused"), (403, true, true, "web-socket.not-offered"),
            (403, false, true, "web-socket.not-offered"), (404, true, nil, "web-socket.refused"),
            (403, true, nil, "web-socket.refused"), (403, false, nil, "web-socket.refused"),
            (404, false, nil, "web-socket.not-offered"), (426, false, nil, "web-socket.not-offered"),
            (415, false, nil, "web-socket.not-offered"), (422, false, nil, "web-socket.not-offered"),
            (400, true, false, "web-socket.refused"), (411, true, false, "web-socket.refused"),
            (502, true, nil, "web-socket.blocked"), (504, false, nil, "web-socket.blocked"),
            (500, true, nil, "web-socket.refused"), (200, false, nil, "web-socket.not-offered"),
            (204, false, nil, "web-socket.not-offered"),
        ] as [(Int, Bool, Bool?, String)])
    func answerWithoutTheUpgradeDeterminesTheCause(statusCode: Int, isPage: Bool, isSame: Bool?, name: String) {
        let cause = Self.cause(statusCode, isPage: isPage, isSame: isSame)
        #expect(cause.name == name)
        let words = "status code \(statusCode)\(isPage ? ", a web page" : "")"
        let more = isSame.map { "the answer without the upgrade is \($0 ? "the same" : "another")" }
        #expect(cause.evidence == [words] + (more.map { [$0] } ?? []))
        let facts = UpgradeFacts(.refused(statusCode: statusCode, isPage: isPage))
        let isDoubtful = (400..<500).contains(statusCode) && (isPage || statusCode == 403)
        #expect(facts.mayBeOfEither == isDoubtful)
    }

    /// Whatever the answer without the upgrade is.
    @Test(arguments: [nil, true, false]) func refusalWrittenByAnIntermediaryBlocksTheWebSocket(isSame: Bool?) {
        let facts = UpgradeFacts(
            .refused(statusCode: 403, isPage: true), isSameWithoutUpgrade: isSame, isOfPath: true)
        let cause = PathJudge(PathFacts.healthy.with { $0.upgrade = .found(facts) }).report.causes.first
        #expect(cause?.name == "web-socket.blocked")
        #expect(cause?.evidence.last == "the answer is that of something on the path")
    }

    /// The engine takes it for the end of a turn, and not for a WebSocket that is missing.
    @Test(arguments: [true, false]) func aCredentialThatTheUpgradeAloneRefusesIsNamed(isPage: Bool) {
        let report = PathJudge(.upgrade(.refused(statusCode: 401, isPage: isPage))).report
        #expect(report.verdict == .degraded && report.causes.map(\.name) == ["web-socket.unauthorized"])
        #expect(
            report.sentence
                == "HTTP works, but WebSockets do not: the upgrade is refused for want of a credential that it accepts."
        )
        #expect(report.advice.usesHTTPOnly)
        #expect(report.causes.first?.remedies.contains { $0.contains("by itself") } == false)
    }

    /// As a server does that has no WebSocket at the path of its responses; what refuses it is not known.
    @Test(arguments: [(403, false), (403, true), (404, true)])
    func refusalOfTheUpgradeAloneHasItsStatusCode(code: Int, isPage: Bool) {
        let facts = UpgradeFacts(.refused(statusCode: code, isPage: isPage), isSameWithoutUpgrade: false)
        let report = PathJudge(PathFacts.healthy.with { $0.upgrade = .found(facts) }).report
        let clause = "he upgrade alone is refused, with status code \(code)."
        #expect(report.sentence == "HTTP works, but WebSockets do not: t\(clause)")
        #expect(report.causes.map(\.name) == ["web-socket.refused"] && report.causes.first?.sentence == "T\(clause)")
    }

    /// The sentence names both where nothing tells them apart.
    @Test func ambiguousRefusalNamesServerAndIntermediary() {
        let facts = PathFacts.upgrade(.refused(statusCode: 404, isPage: true))
        #expect(
            PathJudge(facts).report.sentence
                == "HTTP works, but WebSockets do not: the upgrade is refused, by the server or by something on the path."
        )
    }

    @Test(arguments: [UpgradeFacts.Handshake.established, .cut, .timedOut, .altered("accept")])
    func onlyARefusedUpgradeMayBeOfServerOrIntermediary(handshake: UpgradeFacts.Handshake) {
        #expect(!UpgradeFacts(handshake).mayBeOfEither)
    }

    /// The code of a proxy or of a SOCKS reply (RFC 1928 section 6).
    @Test(arguments: [
        (502, ": the proxy does not reach the server"), (504, ": the proxy does not reach the server"),
        (4, ": the proxy does not reach the server"), (405, ", as by a server that is no proxy"), (403, ""), (2, ""),
    ])
    func refusedTunnelHasItsCodeAndReason(code: Int, reason: String) {
        let words = PathJudge(.proxy(.refused(code: code))).report.result(of: .proxy)?.words
        #expect(words == "the tunnel was refused with code \(code)\(reason)")
    }
}
