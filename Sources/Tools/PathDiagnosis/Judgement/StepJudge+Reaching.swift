/// The judgement of each step by its own facts.
///
/// Pure.
enum StepJudge {}

/// The steps below HTTP.
extension StepJudge {
    /// The largest difference between clocks that is no fault.
    private static let clockTolerance = Duration.seconds(300)
    /// The number of descriptors below which a program runs out of them soon.
    private static let fewDescriptors = 64
    /// The time from which a look-up is slow.
    private static let slowLookUp = Duration.seconds(2)

    /// Judges the process and its settings; a proxy of the other scheme counts where it `explains` a failure.
    static func environment(_ facts: EnvironmentFacts, explains: Bool) -> Judgement {
        let full = facts.libraries
        if let fault = facts.fault {
            let (finding, words) = Self.words(for: fault)
            return .fault(finding, words, full: full)
        }
        if let limit = facts.descriptorLimit, limit < Self.fewDescriptors {
            return .fault(.fewDescriptors, "\(limit) file descriptors (ulimit -n)", full: full)
        }
        if let lead = facts.clockLead, max(lead, .zero - lead) > Self.clockTolerance {
            let difference = lead > .zero ? "\(lead.words) ahead of" : "\((.zero - lead).words) behind"
            return .fault(.clock, "the clock is \(difference) the server's", full: full)
        }
        var judgement = Judgement.ok(Self.words(forProxyOf: facts), full: full)
        if explains, facts.proxyVariable == nil, !facts.isExcepted, let other = facts.otherSchemeVariable {
            judgement.faults = [.init(finding: .otherScheme, evidence: ["\(other) is set"])]
        }
        return judgement
    }

    private static func words(for fault: EnvironmentFacts.Fault) -> (PathFinding, String) {
        switch fault {
        case .descriptors(let limit): (.descriptors, "all \(limit) file descriptors are in use (ulimit -n)")
        case .resources: (.resources, "no socket or thread")
        case .trustAnchors: (.trustAnchors, "the trust anchors' file is missing, unreadable or not PEM")
        case .clientCertificate: (.clientCertificate, "the client's certificate is unreadable")
        case .proxyURL(let words): (.proxyURL, words)
        }
    }

    private static func words(forProxyOf facts: EnvironmentFacts) -> String {
        let proxy =
            if let variable = facts.proxyVariable { "proxy by \(variable)" } else if facts.isExcepted {
                "no proxy, by NO_PROXY"
            } else { "no proxy variable applies" }
        return facts.hasTrustFile ? "\(proxy), trust anchors of a file" : proxy
    }

    /// Judges a look-up, which has taken `time`; a proxy's name has its own faults.
    static func resolution(_ facts: ResolutionFacts, isOfProxy: Bool, within time: Duration) -> Judgement {
        let full = facts.addresses
        if let failure = facts.failure {
            if isOfProxy { return .fault(.proxyUnresolved, "the proxy's name has no address") }
            switch failure {
            case .unknownName: return .fault(.unknownName, "the name has no address")
            case .noAnswer: return .fault(.noNameServer, "the name servers did not answer")
            case .timedOut:
                return .fault(.noNameServer, time > .zero ? "no answer within \(time.words)" : "no answer in time")
            case .other: return .fault(.noNameServer, "the resolver failed")
            }
        }
        if facts.isBlocked { return .fault(.blockedName, "the address is the unspecified one", full: full) }
        let words = "\(facts.version4Count) IPv4, \(facts.version6Count) IPv6"
        guard time < Self.slowLookUp else {
            return .fault(.slowName, "\(words) after \(time.words)", full: full)
        }
        return .ok(words, full: full)
    }

    /// Judges TCP with the dialled host.
    static func connection(_ facts: ConnectionFacts, isToProxy: Bool) -> Judgement {
        guard case .connected(let time) = facts.raced else {
            let words = facts.raced.words
            return .fault(isToProxy ? .proxyUnreachable : facts.raced.finding, words)
        }
        let words = "established in \(time.words)"
        switch (facts.version4, facts.version6) {
        case (.connected?, .timedOut?):
            return .fault(.version6Silent, words, evidence: ["IPv6 alone: no answer in time", "IPv4 alone: works"])
        case (.timedOut?, .connected?):
            return .fault(.version4Silent, words, evidence: ["IPv4 alone: no answer in time", "IPv6 alone: works"])
        default: return .ok(words)
        }
    }

    /// The evidence that the proxy is not needed.
    static let wordsOfNeedlessProxy = "without the proxy TCP with the server works: NO_PROXY may except it"

    /// Judges a proxy.
    static func proxy(_ facts: ProxyFacts) -> Judgement {
        let full = facts.address.isEmpty ? [] : ["\(facts.scheme) proxy at \(facts.address)"]
        guard let tunnel = facts.tunnel else {
            var judgement = Judgement.skipped(SkipReason.notReached.words)
            judgement.fullWords = full
            return judgement
        }
        guard let (finding, words) = Self.fault(of: tunnel) else {
            return .ok("tunnel by \(facts.scheme)", full: full)
        }
        let direct =
            facts.isNeedless == true ? [Self.wordsOfNeedlessProxy] : []
        return .fault(finding, words, evidence: [words] + direct, full: full + Self.issuer(of: tunnel))
    }

    /// Returns the issuer of a proxy's certificate, for a person that helps; empty without one.
    private static func issuer(of tunnel: ProxyFacts.Tunnel) -> [String] {
        if case .certificate(_, let issuer?) = tunnel { ["issuer: \(issuer)"] } else { [] }
    }

    private static func fault(of tunnel: ProxyFacts.Tunnel) -> (PathFinding, String)? {
        switch tunnel {
        case .established: nil
        case .loginMissing: (.proxyLoginMissing, "a login is demanded, and none was given")
        case .loginRefused: (.proxyLoginRefused, "the login was refused")
        // RFC 9110 section 15.6 and RFC 1928 section 6.
        case .refused(let code) where [502, 503, 504, 3, 4, 5, 6].contains(code):
            (.proxyRefused, "the tunnel was refused with code \(code): the proxy does not reach the server")
        // Web servers without tunnels answer a CONNECT so.
        case .refused(let code) where [400, 404, 405, 501].contains(code):
            (.proxyRefused, "the tunnel was refused with code \(code), as by a server that is no proxy")
        case .refused(let code): (.proxyRefused, "the tunnel was refused with code \(code)")
        case .otherProtocol: (.proxyProtocol, "the answer is not that of such a proxy")
        case .speaksHTTP: (.proxyProtocol, "it speaks HTTP without TLS, for which the scheme is http")
        case .certificate(let fault, let issuer):
            (.proxyCertificate, "the proxy's certificate: \(fault.words)\(Self.words(forIssuer: issuer, in: nil))")
        case .serverUnresolved:
            (.unknownName, "the server's name has no address here; with socks5h the proxy looks it up")
        case .tls: (.proxyProtocol, "TLS with the proxy failed")
        case .timedOut: (.proxySilent, "no answer in time")
        case .cut: (.proxyCut, "the connection was cut")
        }
    }

    /// Judges TLS with the server.
    static func tls(_ facts: TLSFacts) -> Judgement {
        switch facts.handshake {
        case .established(let version, let name, let issuer):
            let isInspected = InspectionAuthority.hasShape(issuer) || facts.chain?.inspector != nil
            let inspection = isInspected ? ["inspected by a trusted device"] : []
            let words = [version] + (name.map { [$0] } ?? []) + inspection + (facts.chain?.words ?? [])
            let full = issuer.map { ["issuer: \($0)"] } ?? []
            return .ok(words.joined(separator: ", "), full: full + (facts.chain?.fullWords ?? []))
        case .certificate(let fault, let issuer):
            let words = "\(fault.words)\(Self.words(forIssuer: issuer, in: facts.chain))"
            let finding = Self.finding(for: fault, issuer: issuer, in: facts.chain)
            let evidence = [words] + Self.evidence(of: finding, issuer: issuer, in: facts.chain)
            let full = facts.chain?.fullWords ?? issuer.map { ["issuer: \($0)"] } ?? []
            return .fault(finding, words, evidence: evidence, full: full)
        case .alert(let code): return .fault(.tlsRefused, Self.words(forAlert: code))
        case .answeredInHTTP: return .fault(.plainHTTP, "answered in plain HTTP")
        case .notTLS: return .fault(.notTLS, "the answer is not TLS")
        case .closed: return .fault(.tlsCut, "closed by the peer, without an alert")
        case .reset: return .fault(.tlsCut, "reset")
        case .cut: return .fault(.tlsCut, "cut")
        case .timedOut: return .fault(.tlsSilent, "no answer in time")
        }
    }

    /// Returns an alert (RFC 8446 section 6.2), with its usual reason.
    private static func words(forAlert code: UInt8) -> String {
        let reason: String? =
            switch code {
            case 40: "no cipher suite in common, or a client certificate is demanded"
            case 42, 43, 44, 45, 46, 48, 49, 116: "about the client's certificate"
            case 70: "the server speaks other versions of TLS"
            case 80: "an error inside the server"
            case 112: "the server does not know the name in the base URL"
            case 120: "the server does not speak HTTP/1.1 on this port"
            default: nil
            }
        return "alert \(code)\(reason.map { ": \($0)" } ?? "")"
    }

    private static func finding(
        for fault: CertificateFault, issuer: String?, in chain: CertificateChain?
    ) -> PathFinding {
        let rejectsAuthority = chain?.rejectsAuthority ?? false
        switch fault {
        case .expired: return rejectsAuthority ? .authorityExpired : .expired
        case .notYetValid: return .notYetValid
        case .unknownIssuer where InspectionAuthority.hasShape(issuer) || chain?.inspector != nil: return .inspected
        case .unknownIssuer:
            let isIncomplete = !rejectsAuthority && chain?.lacksIntermediate ?? false
            return isIncomplete ? .incompleteChain : .unknownIssuer
        case .wrongHost: return .wrongHost
        case .other: return .certificate
        }
    }

    private static func evidence(
        of finding: PathFinding, issuer: String?, in chain: CertificateChain?
    ) -> [String] {
        switch finding {
        case .inspected where !InspectionAuthority.hasShape(issuer):
            chain?.inspector.map { ["an authority of its chain\(IssuerName($0).isOfMachine ? "" : ": \($0)")"] } ?? []
        case .incompleteChain: chain.map { [$0.wordsOfAbsence] } ?? []
        case .unknownIssuer where chain?.isSignedByRoot == true:
            ["its issuer has the name of a root, whose certificate servers need not send"]
        case .authorityExpired: chain?.wordsOfRejection.map { [$0] } ?? []
        default: []
        }
    }

    private static func words(forIssuer issuer: String?, in chain: CertificateChain?) -> String {
        issuer.map { IssuerName($0, subject: chain?.sent.first?.subject).words } ?? ""
    }
}

extension CertificateFault {
    /// The fault in words.
    fileprivate var words: String {
        switch self {
        case .expired: "it has expired"
        case .notYetValid: "it is not valid yet"
        case .unknownIssuer: "its issuer is not known"
        case .wrongHost: "it is for another host"
        case .other: "it is not accepted"
        }
    }
}

extension Reach {
    /// The outcome in words.
    fileprivate var words: String {
        switch self {
        case .connected(let time): "established in \(time.words)"
        case .refused: "refused"
        case .noRoute: "no route"
        case .forbidden: "forbidden by this machine"
        case .timedOut: "no answer in time"
        case .failed: "failed"
        }
    }

    /// The fault of a direct connection.
    fileprivate var finding: PathFinding {
        switch self {
        case .refused: .refused
        case .noRoute: .noRoute
        case .forbidden: .forbidden
        case .timedOut: .silent
        case .connected, .failed: .connectionFailed
        }
    }
}
