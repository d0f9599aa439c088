// The table from errors to exit codes.
import Chappie
import ChappieSignIn
import ChappieTestServer
import Foundation
import Testing
import TransportSurface

@testable import ChappieCommand
@testable import ChappieTransport

private func failure(
    _ code: ChappieTransportFailure.Code, phase: ChappieTransportFailure.Phase = .stream, closeCode: Int? = nil,
    statusCode: Int? = nil, detail: String? = nil
) -> ChappieClientError {
    var details = ChappieTransportFailure.Details()
    details.closeCode = closeCode
    details.statusCode = statusCode
    details.detail = detail
    return .transport(
        ChappieTransportFailure(
            code: code, phase: phase, transport: .webSocket, progress: (attempts: 1, replaySafety: .notSent),
            details: details))
}

private func failedResponse(_ code: String) -> ChappieClientError {
    .responseTerminalFailure(
        ChappieResponse(id: nil, status: "failed", errorCode: code, errorMessage: nil, incompleteReason: nil))
}

private let usageLimit = ChappieClientError.usageLimitReached(
    ChappieUsageLimit(
        type: "usage_limit_reached", message: "", plan: nil, resetsAt: nil, primary: nil, secondary: nil))

@Suite struct ExitCodeTests {
    @Test(
        arguments: [
            (.invalidResponse, .wrongData), (.streamingTransportReplayDiverged("x"), .wrongData),
            (failure(.undecodableEvent), .wrongData), (failure(.eventTooLarge), .wrongData),
            (failure(.notHTTP), .wrongData), (failure(.unexpectedContentType), .wrongData),
            (failure(.notSOCKS, phase: .proxy), .wrongData), (failure(.proxyInvalid, phase: .proxy), .usage),
            (failure(.proxyRefused, phase: .proxy, statusCode: 403), .unavailable),
            (failure(.proxyRefused, phase: .proxy, statusCode: 407), .credentials),
            (failure(.proxyRefused, phase: .proxy, detail: "connection-refused"), .unavailable),
            (failure(.proxyRefused, phase: .proxy, detail: "credential-missing"), .credentials),
            (failure(.proxyRefused, phase: .proxy, detail: "credential-refused"), .credentials),
            (failure(.certificateRejected, phase: .proxy, detail: "unknown-issuer"), .unavailable),
            (failure(.unsupportedContentCoding), .wrongData), (failure(.corruptContentCoding), .wrongData),
            (failure(.headerSectionTooLarge), .wrongData), (failure(.protocolViolation), .wrongData),
            (failure(.binaryMessage), .wrongData), (failure(.unsupportedTransferCoding), .wrongData),
            (failure(.requestTooLarge), .usage), (failure(.openingHandshakeInvalid), .wrongData),
            (failure(.openingHandshakeInvalid, statusCode: 403), .credentials),
            (failure(.openingHandshakeInvalid, statusCode: 426), .unavailable),
            (failure(.unresolvable), .unavailable), (failure(.unreachable), .unavailable),
            (failure(.certificateRejected), .unavailable), (failure(.tlsHandshakeFailed), .unavailable),
            (failure(.peerUnresponsive), .unavailable), (failure(.connectionLost), .unavailable),
            (failure(.endedEarly), .unavailable), (failure(.unavailable), .unavailable),
            (failure(.webSocketClosed, closeCode: 1011), .unavailable),
            (failure(.webSocketClosed, closeCode: 1008), .credentials),
            (failure(.invalidRequest), .usage), (failure(.trustAnchorsUnreadable), .usage),
            (failure(.timedOut, phase: .connect), .timedOut), (failure(.timedOut, phase: .stream), .timedOut),
            (.httpError(400, ""), .unavailable), (.httpError(401, ""), .credentials),
            (.httpError(403, ""), .credentials), (.httpError(404, ""), .unavailable),
            (.httpError(429, ""), .tryLater), (.httpError(500, ""), .unavailable), (usageLimit, .tryLater),
            (failedResponse("insufficient_quota"), .tryLater), (failedResponse("rate_limit_exceeded"), .tryLater),
            (failedResponse("server_error"), .unavailable), (failedResponse("invalid_prompt"), .unavailable),
            (.missingCredential, .credentials), (.reauthenticationRequired(""), .credentials),
            (.toolExecutionFailed("", ""), .defect),
        ] as [(ChappieClientError, ExitCode)]
    ) func everyErrorHasAnExitCode(error: ChappieClientError, status: ExitCode) {
        #expect(ExitCode(error) == status)
    }

    @Test(
        arguments: [
            (.expiredDeviceCode, .timedOut), (.cancelledSignIn, .interrupted), (.networkFailure("x"), .unavailable),
            (.pollingTimeout, .timedOut), (.callbackTimeout, .timedOut), (.missingRefreshToken, .credentials),
            (.tokenExchangeFailed(statusCode: 400, body: ""), .credentials),
            (.tokenExchangeFailed(statusCode: 401, body: ""), .credentials),
            (.tokenExchangeFailed(statusCode: 403, body: ""), .credentials),
            (.tokenExchangeFailed(statusCode: 404, body: ""), .unavailable),
            (.tokenExchangeFailed(statusCode: 429, body: ""), .tryLater),
            (.tokenExchangeFailed(statusCode: 500, body: ""), .unavailable), (.authorizationDenied(""), .credentials),
            (.secureRandomFailed(statusCode: 5), .defect), (.invalidResponse, .wrongData), (.unknown(""), .unavailable),
        ] as [(ChappieAuthError, ExitCode)])
    func everyErrorOfASignInHasAnExitCode(error: ChappieAuthError, status: ExitCode) {
        #expect(ExitCode(error) == status)
    }

    @Test(
        arguments: [
            (.insecurePermissions(path: "/p", mode: "644"), .credentials), (.foreignOwner(path: "/p"), .credentials),
            (.notAFile(path: "/p"), .credentials), (.unreadable(path: "/p"), .credentials),
            (.unknownVersion(path: "/p", version: 2), .credentials), (.otherAccount(path: "/p"), .credentials),
            (.invalidAccountName, .usage), (.systemCallFailed(operation: "open", path: "/p", code: 28), .unavailable),
            (.locked(path: "/p"), .timedOut),
        ] as [(ChappieCredentialStorageError, ExitCode)])
    func everyErrorOfAStoreHasAnExitCode(error: ChappieCredentialStorageError, status: ExitCode) {
        #expect(ExitCode(error) == status)
    }

    @Test func otherErrorsHaveExitCodesToo() {
        struct Unknown: Error {}
        #expect(ExitCode(CancellationError()) == .interrupted)
        #expect(ExitCode(UsageError("x")) == .usage)
        #expect(ExitCode(SignedOutError(account: "a")) == .credentials)
        #expect(ExitCode(DescriptorError.failed(code: 28)) == .unavailable)
        #expect(ExitCode(Unknown()) == .defect)
    }

    @Test(
        arguments: [
            (ChappieTestServer.StartError.cannotListen(code: EMFILE), "descriptors.exhausted"),
            (ResourceShortage.descriptors(limit: 4), "descriptors.exhausted"),
            (ChappieTestServer.StartError.noThread, "memory.exhausted"),
            (ResourceShortage.memory, "memory.exhausted"),
        ] as [(any Error, String)])
    func missingResourcesHaveOneNameEach(error: any Error, tag: String) {
        let facts = FailureFacts(error)
        #expect(ExitCode(error) == .unavailable)
        #expect(facts.tag == tag && facts.isRetryable)
        #expect(facts.safeDescription.contains("ulimit"))
        #expect(ResourceShortage(ChappieTestServer.StartError.cannotListen(code: EADDRINUSE)) == nil)
    }

    @Test func exitCodesHaveFixedNumbers() {
        #expect(ExitCode.allCases.map(\.rawValue) == [0, 64, 65, 69, 70, 75, 77, 124, 130])
    }
}
