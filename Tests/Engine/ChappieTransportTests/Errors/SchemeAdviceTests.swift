// The advice where one side of the connection speaks TLS and the other does not.
import Foundation
import StreamSession
import StreamTransport
import Testing

@testable import ChappieTransport
@testable import TransportSurface

private func failure(
    _ code: ChappieTransportFailure.Code, _ phase: ChappieTransportFailure.Phase, isSecure: Bool?,
    safety: ChappieReplaySafety = .notSent, of address: RequestScheme.Address = .baseURL,
    _ change: (inout ChappieTransportFailure.Details) -> Void = { _ in }
) -> ChappieTransportFailure {
    var details = ChappieTransportFailure.Details()
    details.scheme = isSecure.map { RequestScheme(isSecure: $0, of: address) }
    change(&details)
    return ChappieTransportFailure(
        code: code, phase: phase, transport: .httpSSE, progress: (attempts: 2, replaySafety: safety),
        details: details)
}

@Suite struct SchemeAdviceTests {
    private static let toPlain = "Check the port: if the server has no TLS there, the base URL begins with http."
    private static let toTLS = "Check the port: if the server has TLS there, the base URL begins with https."

    @Test func handshakeWithoutAnAnswerOfTLSNamesTheOtherScheme() {
        let failure = failure(.tlsHandshakeFailed, .tls, isSecure: true)
        #expect(failure.advice == Self.toPlain)
        let error = ChappieClientError.transport(failure)
        #expect(error.recoverySuggestion == Self.toPlain)
        #expect(error.safeDescription == "\(failure.problem) \(Self.toPlain)")
    }

    @Test(arguments: [.connectionLost, .notHTTP] as [ChappieTransportFailure.Code])
    func plainRequestWithoutAnAnswerNamesTheOtherScheme(code: ChappieTransportFailure.Code) {
        #expect(failure(code, .upgrade, isSecure: false).advice == Self.toTLS)
        #expect(failure(code, .upgrade, isSecure: false, safety: .sentNoOutput).advice == Self.toTLS)
    }

    /// The code, the facts and the class are those of the row: only the advice differs.
    @Test(arguments: [.tlsHandshakeFailed, .connectionLost, .notHTTP] as [ChappieTransportFailure.Code])
    func schemeAdviceLeavesOtherFactsUnchanged(code: ChappieTransportFailure.Code) {
        let isSecure = code == .tlsHandshakeFailed
        let named = failure(code, isSecure ? .tls : .upgrade, isSecure: isSecure)
        let plain = failure(code, isSecure ? .tls : .upgrade, isSecure: nil)
        #expect(named.advice != plain.advice)
        #expect(named.facts == plain.facts && named.tag == plain.tag && named.problem == plain.problem)
    }

    /// A person who has set no address, or several, has to see which server it was.
    @Test(arguments: [
        (true, "gateway.example", 443, "gateway.example"), (true, "gateway.example", 80, "gateway.example:80"),
        (false, "127.0.0.1", 8_080, "127.0.0.1:8080"), (false, "h", 80, "h"), (true, "::1", 8_443, "[::1]:8443"),
    ])
    func failureToConnectNamesTheServer(isSecure: Bool, host: String, port: UInt16, name: String) {
        let endpoint = TransportEndpoint(isSecure: isSecure, host: host, port: port, target: "/v1")
        func problem(_ code: ChappieTransportFailure.Code, _ phase: ChappieTransportFailure.Phase) -> String {
            failure(code, phase, isSecure: nil) { $0.scheme = RequestScheme(endpoint, of: .baseURL) }.problem
        }
        #expect(
            problem(.unresolvable, .resolve)
                == "The server's name has no address (while looking up \(name), HTTP, 2 attempts).")
        #expect(
            problem(.unreachable, .connect)
                == "The server cannot be reached (while connecting to \(name), HTTP, 2 attempts).")
        #expect(problem(.timedOut, .tls).contains("(while securing the connection to \(name), HTTP"))
        #expect(problem(.proxyRefused, .proxy).contains("(while asking the proxy for a tunnel to \(name), HTTP"))
        #expect(!problem(.connectionLost, .stream).contains(name + ","))
    }

    private static let others: [ChappieTransportFailure] = [
        // Only TLS sends alerts.
        failure(.tlsHandshakeFailed, .tls, isSecure: true) { $0.systemCode = 40 },
        failure(.tlsHandshakeFailed, .proxy, isSecure: true), failure(.tlsHandshakeFailed, .tls, isSecure: nil),
        failure(.connectionLost, .upgrade, isSecure: false) { $0.receivedByteCount = 1 },
        failure(.connectionLost, .stream, isSecure: false), failure(.connectionLost, .connect, isSecure: false),
        failure(.connectionLost, .proxy, isSecure: false), failure(.notHTTP, .proxy, isSecure: false),
        failure(.connectionLost, .upgrade, isSecure: true), failure(.notHTTP, .upgrade, isSecure: true),
        failure(.connectionLost, .upgrade, isSecure: nil), failure(.notHTTP, .upgrade, isSecure: nil),
        // The output has come through the same port.
        failure(.connectionLost, .upgrade, isSecure: false, safety: .outputDelivered),
        failure(.tlsHandshakeFailed, .tls, isSecure: true, safety: .outputDelivered),
        failure(.timedOut, .upgrade, isSecure: false), failure(.unreachable, .connect, isSecure: true),
    ]

    @Test(arguments: Self.others.indices) func otherFailuresDoNotNameTheOtherScheme(index: Int) {
        #expect(!Self.others[index].mayNeedOtherScheme)
        #expect(!Self.others[index].safeDescription.contains("Check the port"))
    }

    @Test(
        arguments: [
            (.baseURL, true, "the base URL begins with http"), (.baseURL, false, "the base URL begins with https"),
            (.url, true, "the URL begins with http"), (.url, false, "the URL begins with https"),
            (.webSocketURL, true, "the URL begins with ws"), (.webSocketURL, false, "the URL begins with wss"),
        ] as [(RequestScheme.Address, Bool, String)])
    func addressIsNamedAsTheProgramHasIt(address: RequestScheme.Address, isSecure: Bool, words: String) {
        let failure = failure(
            isSecure ? .tlsHandshakeFailed : .notHTTP, isSecure ? .tls : .upgrade, isSecure: isSecure, of: address)
        #expect(failure.advice.hasSuffix(", \(words)."))
    }

    @Test(arguments: [("https://a.test/v1", true), ("http://a.test/v1", false), ("HTTPS://a.test", true)])
    func schemeIsThatOfTheBaseURL(url: String, isSecure: Bool) async throws {
        let baseURL = try #require(URL(string: url))
        let script: [ScriptStep] = isSecure ? .failure(.tls, .tlsHandshakeFailed) : .failure(.upgrade, .notHTTP)
        let fixture = TurnFixture([script]) {
            $0.baseURL = baseURL
            $0.policy = ChappieStreamingTransportPolicy(
                maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
        }
        let failure = try #require(await fixture.run().transportFailure)
        #expect(failure.advice == (isSecure ? Self.toPlain : Self.toTLS))
    }
}
