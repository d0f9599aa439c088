// The descriptions of a proxy that cannot be used, cannot be reached, or refuses.
import StreamTransport
import Testing

@testable import ChappieTransport
@testable import TransportSurface

/// A failure with the facts that matter to a test.
private func failure(
    _ code: ChappieTransportFailure.Code, phase: ChappieTransportFailure.Phase,
    _ set: (inout ChappieTransportFailure.Details) -> Void = { _ in }
) -> ChappieTransportFailure {
    var details = ChappieTransportFailure.Details()
    set(&details)
    return ChappieTransportFailure(
        code: code, phase: phase, transport: .webSocket, progress: (attempts: 2, replaySafety: .notSent),
        details: details)
}

@Suite struct ProxyFailureTests {
    @Test(arguments: [(401, .auth), (407, .auth), (403, .network), (502, .network)] as [(Int, ChappieErrorCategory)])
    func aProxyThatRefusesIsJudgedByItsStatusCode(status: Int, category: ChappieErrorCategory) {
        let error = ChappieClientError.transport(failure(.proxyRefused, phase: .proxy) { $0.statusCode = status })
        #expect(error.category == category)
        #expect(error.requiresUserAction == (category == .auth))
        #expect(error.isRetryable == (category == .network))
        #expect(error.safeDescription.contains("user name and password") == (category == .auth))
        #expect(error.safeDescription.contains("status code \(status)"))
    }

    @Test(arguments: [.unresolvable, .unreachable, .notHTTP, .connectionLost] as [ChappieTransportFailure.Code])
    func aFailureOnTheWayToTheProxyNamesTheProxy(code: ChappieTransportFailure.Code) {
        #expect(failure(code, phase: .proxy).safeDescription.hasPrefix("The proxy"))
        #expect(!failure(code, phase: .connect).safeDescription.hasPrefix("The proxy"))
    }

    @Test(arguments: [.certificateRejected, .tlsHandshakeFailed] as [ChappieTransportFailure.Code])
    func tlsToTheProxyIsNotTLSToTheServer(code: ChappieTransportFailure.Code) {
        for refusal in [nil] + TLSRefusal.allCases {
            let atProxy = failure(code, phase: .proxy) { $0.detail = refusal?.rawValue }
            #expect(atProxy.safeDescription.contains("proxy"))
            #expect(!atProxy.problem.contains("the server") && !atProxy.problem.contains("The server"))
            let atServer = failure(code, phase: .tls) { $0.detail = refusal?.rawValue }
            #expect(!atServer.safeDescription.contains("proxy"))
        }
    }

    struct Refusal: Sendable {
        let code: UInt8
        let problem: String
        let advice: String
    }

    @Test(arguments: [
        Refusal(
            code: 1, problem: ": it failed",
            advice: "Check the server's address, and ask the proxy's operator: its log says why."),
        Refusal(
            code: 2, problem: ": its rules do not allow it",
            advice: "Ask the proxy's operator to allow the server, or name it in NO_PROXY."),
        Refusal(
            code: 3, problem: ": it cannot reach the server's network",
            advice: "Check the server's address, and whether the server can be reached from the proxy."),
        Refusal(
            code: 4, problem: ": it cannot reach the server",
            advice: "Check the server's address, and whether the server can be reached from the proxy."),
        Refusal(
            code: 5, problem: ": the server refused it",
            advice: "Check the server's address, and whether the server can be reached from the proxy."),
        Refusal(
            code: 6, problem: ": the way from it to the server is too long",
            advice: "Check the server's address, and whether the server can be reached from the proxy."),
        Refusal(
            code: 7, problem: ": it opens no connections",
            advice: "Use another proxy, or ask this one's operator to allow CONNECT."),
        Refusal(
            code: 8, problem: ": it does not support this kind of address",
            advice: "Write the server's address as a name, or as an IPv4 address."),
        Refusal(
            code: 9, problem: " with reply code 9",
            advice: "Ask the proxy's operator to allow the server, or name it in NO_PROXY."),
    ])
    func socksReplyCodeHasItsDescriptionAndAdvice(_ refusal: Refusal) {
        let refused = failure(.proxyRefused, phase: .proxy) {
            $0.systemCode = Int(refusal.code)
            $0.detail = SOCKSRefusal(code: refusal.code)?.rawValue
        }
        let place = " (while asking the proxy for a tunnel, WebSocket, 2 attempts). "
        #expect(
            refused.safeDescription == "The proxy refused the connection\(refusal.problem)\(place)\(refusal.advice)")
        let error = ChappieClientError.transport(refused)
        #expect(error.tag == "proxy.refused" && error.category == .network && error.isRetryable)
    }

    @Test(
        arguments: [
            (
                .credentialMissing, "The proxy requires a user name and a password",
                "Put the user name and password into the proxy's URL."
            ),
            (
                .credentialRefused, "The proxy refused the user name or the password",
                "Check the user name and password in the proxy's URL."
            ),
            (
                .methodsRefused, "The proxy requires another way of logging in than with a user name and a password",
                "Ask the proxy's operator to allow a login with user name and password."
            ),
        ] as [(TransportFailure.SOCKSAuthenticationFault, String, String)])
    func refusedLoginHasItsAdvice(fault: TransportFailure.SOCKSAuthenticationFault, problem: String, advice: String) {
        let refused = failure(.proxyRefused, phase: .proxy) { $0.detail = fault.rawValue }
        let place = " (while asking the proxy for a tunnel, WebSocket, 2 attempts). "
        #expect(refused.safeDescription == problem + place + advice)
        let error = ChappieClientError.transport(refused)
        #expect(error.tag == "proxy.refused" && error.category == .auth)
        #expect(error.requiresUserAction && !error.isRetryable)
    }

    @Test func detailWordsAreUniqueAcrossEnums() {
        let words =
            TLSRefusal.allCases.map(\.rawValue) + SOCKSRefusal.allCases.map(\.rawValue)
            + TransportFailure.SOCKSAuthenticationFault.allCases.map(\.rawValue)
            + TransportFailure.EnvironmentFault.allCases.map(\.rawValue)
        #expect(Set(words).count == words.count)
    }
}
