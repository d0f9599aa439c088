/// Makes the report of an examination from its facts.
///
/// Pure: it performs no I/O and reads no clock.
package struct PathJudge {
    private let facts: PathFacts

    /// Creates a judge of the facts.
    package init(_ facts: PathFacts) {
        self.facts = facts
    }

    /// The largest number of causes in a report.
    private static let causeLimit = 3

    /// The report.
    package var report: ChappieDiagnosis.Report {
        let judgements = ChappieDiagnosis.Step.allCases.map { ($0, self.judgement(of: $0)) }
        let faults = judgements.flatMap(\.1.faults)
        let ranked = Self.ranked(faults)
        let verdict = self.verdict(on: faults)
        return ChappieDiagnosis.Report(
            verdict: verdict,
            sentence: self.sentence(verdict, ranked),
            causes: ranked.prefix(Self.causeLimit).map { self.cause(of: $0) },
            steps: judgements.map { step, judgement in
                let time = self.time(of: step)
                return ChappieDiagnosis.StepResult(
                    step: step, outcome: judgement.outcome, words: judgement.words, fullWords: judgement.fullWords,
                    start: time?.start, duration: time?.duration)
            },
            advice: self.advice(ranked))
    }

    /// Indicates whether an API has answered the request without a credential.
    package var hasAPI: Bool { self.judgement(of: .http).outcome == .ok }

    /// Indicates whether further requests make sense: no fault was found with which no turn is possible.
    package var mayAsk: Bool {
        !ChappieDiagnosis.Step.allCases.flatMap { self.judgement(of: $0).faults }
            .contains { $0.effect == .everything }
    }

    /// Indicates whether a proxy that has accepted a tunnel may be the cause of a fault.
    package var mayBeOfProxy: Bool {
        ChappieDiagnosis.Step.allCases.flatMap { self.judgement(of: $0).faults }.contains {
            self.mayBeOfProxy($0.finding)
        }
    }

    private func mayBeOfProxy(_ finding: PathFinding) -> Bool {
        let findings: [PathFinding] = [
            .plainHTTP, .notTLS, .tlsCut, .tlsSilent, .notHTTP, .httpCut, .httpSilent,
        ]
        // A list of models that was answered has come through the tunnel, whatever becomes of the POST.
        return self.facts.proxy.facts?.tunnel == .established && self.facts.http.facts?.refusal == nil
            && findings.contains(finding)
    }

    /// Returns a fault as the report has it.
    private func cause(of fault: Judgement.Fault) -> ChappieDiagnosis.Cause {
        let row = fault.finding.row
        var (evidence, remedies) = (fault.evidence, row.remedies)
        if self.mayBeOfProxy(fault.finding) {
            evidence.append("the proxy has accepted the tunnel")
            if self.facts.proxy.facts?.isNeedless == true { evidence.append(StepJudge.wordsOfNeedlessProxy) }
            remedies = [PathFinding.Row.suspicionOfProxy] + remedies.filter { $0 != PathFinding.Row.demandOfProxy }
        }
        return ChappieDiagnosis.Cause(
            name: fault.finding.rawValue, step: row.step, sentence: "\(fault.clause.capitalizedFirst).",
            evidence: evidence, remedies: remedies)
    }

    // MARK: Steps

    private func judgement(of step: ChappieDiagnosis.Step) -> Judgement {
        let facts = self.facts
        switch step {
        case .environment: return StepJudge.environment(facts.environment, explains: self.hasNoConnection)
        case .resolve:
            return facts.resolution.judged {
                StepJudge.resolution($0, isOfProxy: self.hasProxy, within: self.timeOfLookUp)
            }
        case .connect: return facts.connection.judged { StepJudge.connection($0, isToProxy: self.hasProxy) }
        case .proxy: return facts.proxy.judged(StepJudge.proxy)
        case .tls: return facts.tls.judged(StepJudge.tls)
        case .http: return self.http
        case .credential: return facts.credential.judged { StepJudge.credential($0, askedFor: self.login) }
        case .webSocket: return self.webSocket
        case .compression: return self.compression
        case .earlyClose: return facts.earlyClose.judged(StepJudge.earlyClose)
        case .messages: return facts.messages.judged(StepJudge.messages)
        case .pings: return facts.pings.judged(StepJudge.pings)
        case .eventStream:
            let jitter = facts.pings.facts?.jitter ?? .zero
            return facts.eventStream.judged { StepJudge.eventStream($0, jitter: jitter) }
        case .idle: return facts.idle.judged(StepJudge.idle)
        }
    }

    private func time(of step: ChappieDiagnosis.Step) -> StepTime? {
        let facts = self.facts
        switch step {
        case .environment: return facts.environment.time
        case .resolve: return facts.resolution.time
        case .connect: return facts.connection.time
        case .proxy: return facts.proxy.time
        case .tls: return facts.tls.time
        case .http: return facts.http.time
        case .credential: return facts.credential.time
        // Compression is agreed on by the opening handshake.
        case .webSocket, .compression: return facts.upgrade.time
        case .earlyClose: return facts.earlyClose.time
        case .messages: return facts.messages.time
        case .pings: return facts.pings.time
        case .eventStream: return facts.eventStream.time
        case .idle: return facts.idle.time
        }
    }

    /// The judgement of HTTP.
    ///
    /// Where the GET has no fault, and a limit hides whether turns over HTTP are possible, the finding is
    /// `responsesLimited`.
    private var http: Judgement {
        let facts = self.facts
        let judgement = facts.http.judged {
            StepJudge.http($0, hasModels: facts.hasModels, overTLS: self.versionOfTLS, within: self.timeOfHTTP)
        }
        guard facts.hasLimitedResponses, judgement.faults.isEmpty else { return judgement }
        let words = "status code 429 for the responses"
        return .fault(.responsesLimited, words + StepJudge.words(ofWait: facts.http.facts?.responsesAnswer?.retryAfter))
    }

    /// The opening handshake; that no time was left for it says nothing about WebSockets.
    private var webSocket: Judgement {
        var judgement = self.facts.upgrade.judged(StepJudge.upgrade)
        if self.facts.upgrade == .skipped(.noTime) {
            judgement.faults = [.init(finding: .webSocketUnknown, evidence: [judgement.words])]
        }
        return judgement
    }

    /// The offer and its answer; the upgrade decides about a WebSocket that was not established.
    private var compression: Judgement {
        switch self.facts.upgrade {
        case .skipped(let reason): return .skipped(reason.words)
        case .found(let upgrade, _):
            guard upgrade.offersCompression else { return .skipped(SkipReason.notOffered.words) }
            return StepJudge.compression(upgrade)
        }
    }

    /// The version of TLS; nil without TLS, or without a handshake.
    private var versionOfTLS: String? {
        guard case .established(let version, _, _)? = self.facts.tls.facts?.handshake else { return nil }
        return version
    }

    /// The time of the first answer, or of the wait for it; zero when it is not known.
    private var timeOfHTTP: Duration { self.facts.http.time?.duration ?? .zero }

    /// The time of the look-up; zero when it is not known.
    private var timeOfLookUp: Duration { self.facts.resolution.time?.duration ?? .zero }

    /// Indicates whether the server has not answered in time, but has answered another request: it is slow, or one of
    /// its routes is.
    ///
    /// Pages and the errors of gateways are answers of what stands in front of it.
    private var isLate: Bool {
        guard let http = self.facts.http.facts, http.exchange == .timedOut, http.hasResponses != true,
            case .refused(let code, isPage: false)? = self.facts.upgrade.facts?.handshake
        else { return false }
        return UpgradeFacts.codesOfServer.union([401, 403, 429]).contains(code)
    }

    /// The login for which the server has asked; nil for none, or for a key.
    private var login: HTTPFacts.Login? {
        guard case .answered(let answer)? = self.facts.http.facts?.exchange else { return nil }
        return answer.login
    }

    /// Indicates whether the dialled host is a proxy.
    private var hasProxy: Bool {
        if case .skipped = self.facts.proxy { false } else { true }
    }

    /// Indicates whether no TCP connection was established, which a missing proxy may explain.
    private var hasNoConnection: Bool {
        if let resolution = self.facts.resolution.facts, resolution.failure != nil { return true }
        return self.facts.connection.facts.map { !$0.raced.isConnected } ?? false
    }

    // MARK: The whole

    private func verdict(on faults: [Judgement.Fault]) -> ChappieDiagnosis.Verdict {
        let effects = faults.map(\.effect)
        if effects.contains(.everything) { return .fails }
        let lacksHTTP = effects.contains(.http)
        let lacksWebSocket = effects.contains(.webSocket) || !self.isUpgraded
        if lacksHTTP, lacksWebSocket { return self.isLate ? .degraded : .fails }
        return effects.contains { $0 != .hint } ? .degraded : .works
    }

    private var isUpgraded: Bool { self.facts.isUpgraded }

    /// Returns the faults in the order of their effects, and inside that in the order of the layers.
    private static func ranked(_ faults: [Judgement.Fault]) -> [Judgement.Fault] {
        let order: [PathFinding.Effect] = [.everything, .http, .doubt, .webSocket, .quality, .hint]
        return order.flatMap { effect in faults.filter { $0.effect == effect } }
    }

    private func sentence(_ verdict: ChappieDiagnosis.Verdict, _ faults: [Judgement.Fault]) -> String {
        guard let fault = faults.first, verdict != .works else { return self.sentenceOfSuccess }
        let clause = self.clause(of: fault)
        guard verdict == .degraded else { return "\(clause.capitalizedFirst)." }
        if self.isLate { return "The server answers, but \(clause)." }
        let effects = faults.map(\.effect)
        if effects.contains(.http) { return "WebSockets work, but HTTP does not: \(clause)." }
        if effects.contains(.doubt) {
            return self.facts.http.facts == nil ? "\(clause.capitalizedFirst)." : "The server answers, but \(clause)."
        }
        if effects.contains(.webSocket) { return "HTTP works, but WebSockets do not: \(clause)." }
        return "\(self.working) work\(self.isUpgraded ? "" : "s"), but \(clause)."
    }

    /// Returns the clause of a fault, with the time of a wait that another might have outlasted.
    private func clause(of fault: Judgement.Fault) -> String {
        let time: Duration =
            switch fault.finding {
            case .httpSilent where self.facts.http.facts?.exchange == .timedOut: self.timeOfHTTP
            case .noNameServer where self.facts.resolution.facts?.failure == .timedOut: self.timeOfLookUp
            default: .zero
            }
        return time > .zero ? "\(fault.clause) within \(time.words)" : fault.clause
    }

    private var working: String { self.isUpgraded ? "WebSockets and HTTP" : "HTTP" }

    private var sentenceOfSuccess: String {
        let works = "\(self.working) work\(self.isUpgraded ? "" : "s")"
        switch self.facts.upgrade {
        case .skipped(.needsCredential):
            return "\(works); the server demands a credential, and there is none to examine the rest with."
        case .skipped, .found: return "\(works)."
        }
    }

    /// The variable that names the proxy, or would; nil where the configuration names it.
    private var proxyVariable: String? {
        if let name = self.facts.environment.proxyVariable { return name }
        guard !self.hasProxy else { return nil }
        return self.facts.isSecure ? "HTTPS_PROXY" : "HTTP_PROXY"
    }

    private func advice(_ faults: [Judgement.Fault]) -> ChappieDiagnosis.Advice {
        var advice = ChappieDiagnosis.Advice()
        for setting in faults.flatMap(\.finding.row.settings) {
            switch setting {
            case .httpOnly: advice.usesHTTPOnly = true
            case .noCompression: advice.disablesCompression = true
            case .variable(let name): advice.add(name)
            case .proxyVariable: if let name = self.proxyVariable { advice.add(name) }
            }
        }
        // A WebSocket that fails with HTTP as well is not avoided by it.
        if faults.contains(where: { $0.effect == .http }) { advice.usesHTTPOnly = false }
        advice.pingInterval = self.facts.idle.facts.flatMap(StepJudge.pingInterval)
        return advice
    }
}

extension ChappieDiagnosis.Advice {
    /// Adds a variable, once.
    fileprivate mutating func add(_ variable: String) {
        if !self.variables.contains(variable) { self.variables.append(variable) }
    }
}

extension String {
    /// The text with a capital letter; a name such as IPv6 stays as it is.
    fileprivate var capitalizedFirst: String { self.prefix(1).uppercased() + self.dropFirst() }
}
