// The advice of the engine's errors beside the remedies of the finding to which the same failure leads.
import ChappieTransport
import Foundation
import PathDiagnosis
import StreamSession
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieDiagnosis

/// An action that advice may name, with the words that name it in errors and in findings.
private enum Action: String, CaseIterable {
    case address, network, firewall, time, authority, clock, proxyURL, login, noProxy, reachFromProxy, proxyOperator
    case serverOperator, http, allowWebSockets, smaller, credential, key, signIn, access, account, descriptors, limits
    case sandbox, pem, clientCertificate, versions, pins, browser, otherNetwork, standsBetween, port

    private var words: [String] {
        switch self {
        case .address: ["address", "base url"]
        case .network:
            [
                "the network and", "and the network", "the network,", "network connection", "this network",
                "network's operator",
            ]
                + ["or the network's, to"]
        case .firewall: ["firewall"]
        case .time: ["more time"]
        case .authority: ["authority"]
        case .clock: ["clock"]
        case .proxyURL: ["proxy's url"]
        case .login: ["user name and"]
        case .noProxy: ["no_proxy"]
        case .reachFromProxy: ["reached from the proxy"]
        case .proxyOperator: ["proxy's operator", "or of the proxy", "or the proxy"]
        case .serverOperator: ["server's operator", "operator of the server"]
        case .http: ["use http", "allow http"]
        case .allowWebSockets: ["allow websockets"]
        case .smaller: ["smaller request"]
        case .credential: ["what the credential allows"]
        case .key: ["the api key", "the key ("]
        case .signIn: ["sign in again"]
        case .access: ["ask for access"]
        case .account: ["another account"]
        case .descriptors: ["ulimit -n"]
        case .limits: ["ulimit -u"]
        case .sandbox: ["sandbox"]
        case .pem: ["pem"]
        case .clientCertificate: ["client certificate", "client's certificate"]
        case .versions: ["versions", "tls 1.2 or 1.3"]
        case .pins: ["pin the", "pinned keys"]
        case .browser: ["in a browser"]
        case .otherNetwork: ["another network"]
        case .standsBetween: ["stand in between"]
        case .port: ["the port"]
        }
    }

    /// Returns the actions that a text names.
    static func all(in text: String) -> Set<Self> {
        let text = text.lowercased()
        return Set(Self.allCases.filter { $0.words.contains { text.contains($0) } })
    }
}

/// A failure, the engine's advice about it, and the finding of an examination that meets it.
private struct SharedFailure: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let advice: String
    let facts: PathFacts

    /// The engine's error of an attempt; `isSecure` tells whether the base URL has `https`, where that counts.
    private static func error(_ failure: AttemptFailure, isSecure: Bool? = nil) -> ChappieTransportFailure {
        let (code, facts) = failure.codeAndDetails ?? (.unavailable, .init())
        var details = facts
        details.scheme = isSecure.map { RequestScheme(isSecure: $0, of: .baseURL) }
        return ChappieTransportFailure(
            code: code, phase: failure.phase(hasEvents: false), transport: .webSocket,
            progress: (attempts: 1, replaySafety: .notSent), details: details)
    }

    init(_ failure: AttemptFailure, _ change: (inout PathFacts) -> Void) {
        let error = Self.error(failure)
        self.init("\(error.tag), \(error.phase)", error.advice, change)
    }

    init(
        _ phase: TransportFailure.Phase, _ cause: TransportFailure.Cause, isSecure: Bool? = nil,
        _ change: (inout PathFacts, TransportFailure) -> Void
    ) {
        let failure = TransportFailure(phase: phase, cause: cause)
        let error = Self.error(.transport(failure), isSecure: isSecure)
        self.init("\(error.tag), \(error.phase)", error.advice) { change(&$0, failure) }
    }

    /// A status code, and the finding of the answer.
    init(status: Int, _ body: String, _ change: (inout PathFacts) -> Void) {
        self.init("http.\(status)", ChappieClientError.httpError(status, body).recoverySuggestion ?? "", change)
    }

    private init(_ name: String, _ advice: String, _ change: (inout PathFacts) -> Void) {
        self.testDescription = name
        self.advice = advice
        var facts = PathFacts()
        change(&facts)
        self.facts = facts
    }

    /// The remedies of the first cause, with its sentence, which may name what they are about.
    var finding: (name: String, text: String) {
        guard let cause = PathJudge(self.facts).report.causes.first else { return ("none", "") }
        return (cause.name, ([cause.sentence] + cause.remedies).joined(separator: " "))
    }

    // MARK: The failures of each layer

    private static func resolve(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.resolution = .found(.init(failure: failure.resolution))
    }

    private static func connect(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.connection = .found(.init(raced: failure.reach))
    }

    private static func environment(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.environment.fault = failure.environmentFault
    }

    private static func proxy(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.proxy = .found(.init(tunnel: failure.tunnel(hasLogin: true)))
    }

    private static func proxyName(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.proxy = .found(.init(tunnel: nil))
        self.resolve(&facts, failure)
    }

    private static func proxyAddress(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.proxy = .found(.init(tunnel: nil))
        self.connect(&facts, failure)
    }

    private static func tls(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.tls = .found(.init(failure.handshake))
    }

    private static func http(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.http = .found(.init(failure.exchange))
    }

    private static func upgrade(_ facts: inout PathFacts, _ failure: TransportFailure) {
        facts.upgrade = .found(.init(failure.upgrade))
    }

    private static func answered(_ status: Int, _ body: HTTPFacts.Body) -> (inout PathFacts) -> Void {
        { $0.http = .found(.init(.answered(.init(statusCode: status, body: body)))) }
    }

    private static let below: [Self] = [
        .init(.resolve, .unresolvable(code: EAI_NONAME), Self.resolve),
        .init(.resolve, .unresolvable(code: EAI_AGAIN), Self.resolve),
        .init(.connect, .unreachable(code: ECONNREFUSED), Self.connect),
        .init(.connect, .unreachable(code: ENETUNREACH), Self.connect),
        .init(.connect, .unreachable(code: EACCES), Self.connect),
        .init(.connect, .unreachable(code: 0), Self.connect),
        .init(.connect, .timedOut, Self.connect),
        .init(.connect, .descriptorsExhausted(limit: 16), Self.environment),
        .init(.connect, .environmentUnusable(.socket), Self.environment),
        .init(.connect, .environmentUnusable(.thread), Self.environment),
        .init(.connect, .trustAnchorsUnreadable, Self.environment),
        .init(.connect, .clientCertificateUnreadable, Self.environment),
        .init(.proxy, .proxyInvalid("its scheme is unknown"), Self.environment),
    ]

    private static let proxies: [Self] = [
        .init(.proxy, .unresolvable(code: EAI_NONAME), Self.proxyName),
        .init(.proxy, .unreachable(code: ECONNREFUSED), Self.proxyAddress),
        .init(.proxy, .timedOut, Self.proxy),
        .init(.proxy, .proxyRefused(statusCode: 407), Self.proxy),
        .init(.proxy, .proxyRefused(statusCode: 407)) {
            $0.proxy = .found(.init(tunnel: $1.tunnel(hasLogin: false)))
        },
        .init(.proxy, .proxyRefused(statusCode: 403), Self.proxy),
        .init(.proxy, .socksRefused(code: 1), Self.proxy), .init(.proxy, .socksRefused(code: 2), Self.proxy),
        .init(.proxy, .socksRefused(code: 4), Self.proxy), .init(.proxy, .socksRefused(code: 5), Self.proxy),
        .init(.proxy, .socksRefused(code: 8), Self.proxy),
        .init(.proxy, .socksAuthenticationRefused(.credentialMissing), Self.proxy),
        .init(.proxy, .socksAuthenticationRefused(.credentialRefused), Self.proxy),
        .init(.proxy, .socksAuthenticationRefused(.methodsRefused), Self.proxy),
        .init(.proxy, .notSOCKS, Self.proxy), .init(.proxy, .notHTTP, Self.proxy),
        .init(.proxy, .tlsHandshakeFailed, Self.proxy),
        .init(.proxy, .certificateRejected(code: 20), Self.proxy),
        .init(.proxy, .certificateRejected(code: 10), Self.proxy),
        .init(.proxy, .certificateRejected(code: 62), Self.proxy),
    ]

    private static let secured: [Self] = [
        .init(.tls, .certificateRejected(code: 20, issuer: "CN=Our own CA"), Self.tls),
        .init(.tls, .certificateRejected(code: 20, issuer: "CN=Zscaler Root CA"), Self.tls),
        .init(.tls, .certificateRejected(code: 18), Self.tls), .init(.tls, .certificateRejected(code: 10), Self.tls),
        .init(.tls, .certificateRejected(code: 9), Self.tls), .init(.tls, .certificateRejected(code: 62), Self.tls),
        .init(.tls, .certificateRejected(code: 23), Self.tls), .init(.tls, .certificateRejected(code: 66), Self.tls),
        .init(.tls, .keyNotPinned, Self.tls), .init(.tls, .tlsAlert(40), Self.tls),
        .init(.tls, .tlsAlert(70), Self.tls),
        .init(.tls, .tlsAlert(42), Self.tls), .init(.tls, .tlsAlert(112), Self.tls),
        .init(.tls, .tlsAlert(116), Self.tls),
        .init(.tls, .timedOut, Self.tls),
    ]

    private static let answers: [Self] = [
        .init(.upgrade, .notHTTP, Self.http), .init(.upgrade, .timedOut, Self.http),
        .init(status: 401, "{}") { $0.credential = .found(.init(statusCode: 401)) },
        .init(status: 403, "{}") { $0.credential = .found(.init(statusCode: 403)) },
        .init(.unexpectedContentType, Self.answered(200, .page)),
        .init(status: 404, "<html>", Self.answered(404, .page)),
        .init(status: 502, "<html>", Self.answered(502, .page)),
        .init(.upgrade, .openingHandshakeInvalid(.accept), Self.upgrade),
        .init(.upgrade, .timedOut, Self.upgrade),
        .init(.closed(code: 1008, beforeFirstEvent: true)) { $0.earlyClose = .found(.init(closeCode: 1008)) },
        .init(.closed(code: 1009, beforeFirstEvent: true)) {
            $0.messages = .found(.init([.init(byteCount: 1 << 20, echo: .closed(code: 1009))]))
        },
        .init(.requestTooLarge) {
            $0.messages = .found(.init([.init(byteCount: 1 << 20, echo: .closed(code: 1009))]))
        },
    ]

    private static let schemes: [Self] = [
        .init(.tls, .tlsHandshakeFailed, isSecure: true, Self.tls),
        .init(.upgrade, .notHTTP, isSecure: false, Self.http),
        .init(.upgrade, .connectionLost, isSecure: false, Self.http),
    ]

    static let all = Self.below + proxies + secured + answers + schemes

    /// The engine's sentences of a time limit on the path.
    static var wordsOfTimeLimit: String {
        var details = ChappieTransportFailure.Details()
        details.pathTimeLimit = .seconds(60)
        return ChappieTransportFailure(
            code: .connectionLost, phase: .stream, transport: .httpSSE,
            progress: (attempts: 2, replaySafety: .outputDelivered), details: details
        ).problem
    }
}

@Suite struct AdviceVocabularyTests {
    /// An examination knows more than an error, so that its remedies may be fewer or more: they share an action.
    @Test(arguments: SharedFailure.all)
    fileprivate func aFindingNamesAnActionOfTheErrorsAdvice(_ failure: SharedFailure) {
        let (name, text) = failure.finding
        #expect(name != "none")
        let advised = Action.all(in: failure.advice)
        guard !advised.isEmpty else { return }
        let named = Action.all(in: text)
        #expect(!advised.isDisjoint(with: named), "\(name): \(text)\nnames nothing of: \(failure.advice)")
    }

    /// No action that an error advises is missing from all of the findings that its failures lead to.
    @Test func everyActionOfAnErrorsAdviceIsARemedy() {
        for (advice, failures) in Dictionary(grouping: SharedFailure.all, by: \.advice) {
            let named = failures.reduce(into: Set<Action>()) { $0.formUnion(Action.all(in: $1.finding.text)) }
            let missing = Action.all(in: advice).subtracting(named)
            #expect(missing.isEmpty, "\(failures.map(\.finding.name)) name no \(missing) of: \(advice)")
        }
    }

    /// The table is of failures that a person can do something about.
    @Test func mostAdviceNamesAnAction() {
        let silent = SharedFailure.all.filter { Action.all(in: $0.advice).isEmpty }
        #expect(silent.isEmpty, "\(silent.map { "\($0.testDescription): \($0.advice)" })")
    }

    @Test func diagnosticAndExaminationNameTheTimeLimitOfThePath() {
        #expect(SharedFailure.wordsOfTimeLimit.contains("time limit on the path"))
        var facts = PathFacts()
        facts.idle = .found(.init([.init(asked: .seconds(120), isWebSocket: true, cut: .seconds(60))]))
        facts.eventStream = .found(.init(head: .zero, arrivals: [], end: .cut, askedCount: 2))
        let causes = PathJudge(facts).report.causes
        #expect(causes.contains { $0.name == "idle.cut" && $0.remedies.joined().contains("time limits") })
    }
}
