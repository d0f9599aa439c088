// The facts of errors, case by case.
import StreamSession
import StreamTransport
import Testing

@testable import ChappieTransport
@testable import TransportSurface

/// A failure with the facts that matter to a test.
private func failure(
    _ code: ChappieTransportFailure.Code,
    phase: ChappieTransportFailure.Phase = .stream,
    _ set: (inout ChappieTransportFailure.Details) -> Void = { _ in }
) -> ChappieTransportFailure {
    var details = ChappieTransportFailure.Details()
    set(&details)
    return ChappieTransportFailure(
        code: code, phase: phase, transport: .webSocket, progress: (attempts: 2, replaySafety: .sentNoOutput),
        details: details)
}

private func failedResponse(_ code: String?, status: String = "failed") -> ChappieClientError {
    .responseTerminalFailure(
        ChappieResponse(
            id: "resp_1", status: status, errorCode: code, errorMessage: "SECRET-words", incompleteReason: nil))
}

private func usageLimit(plan: ChappieUsageLimit.Plan? = nil) -> ChappieClientError {
    .usageLimitReached(
        ChappieUsageLimit(
            type: "usage_limit_reached", message: "SECRET-words", plan: plan, resetsAt: nil,
            primary: nil, secondary: nil))
}

private let codes = FailureCode.allCases.map { ChappieTransportFailure.Code($0) }

private let everyError: [ChappieClientError] =
    [
        .missingCredential, .missingRefreshToken, .missingAccountID, .reauthenticationRequired("SECRET-words"),
        usageLimit(), .missingToolHandler("SECRET-words"), .toolApprovalDenied("SECRET-words", "SECRET-words"),
        .toolExecutionFailed("SECRET-words", "SECRET-words"), .toolLoopLimitExceeded(64),
        failedResponse("server_error"), failedResponse(nil, status: "incomplete"),
        failedResponse(nil, status: "cancelled"), failedResponse("SECRET-words", status: "SECRET-words"),
        .streamingTransportReplayDiverged("SECRET-words"), .httpError(429, "SECRET-words"), .invalidResponse,
    ]
    + codes.flatMap { code in
        ChappieTransportFailure.Phase.allCases.map { phase in
            .transport(
                failure(code, phase: phase) {
                    $0.closeReason = "SECRET-words"
                    $0.serverMessage = "SECRET-words"
                    $0.issuer = "SECRET-words"
                })
        }
    }
    + tlsRefusals + socksRefusals

private let tlsRefusals: [ChappieClientError] = TLSRefusal.allCases.flatMap { refusal in
    [ChappieTransportFailure.Code.certificateRejected, .tlsHandshakeFailed].flatMap { code in
        [ChappieTransportFailure.Phase.tls, .proxy].map { phase in
            let refused = failure(code, phase: phase) {
                $0.detail = refusal.rawValue
                $0.issuer = "SECRET-words"
            }
            return .transport(refused)
        }
    }
}

private let socksRefusals: [ChappieClientError] =
    (0...255 as ClosedRange<UInt8>).map { code in
        let refused = failure(.proxyRefused, phase: .proxy) {
            $0.systemCode = Int(code)
            $0.detail = SOCKSRefusal(code: code)?.rawValue
        }
        return .transport(refused)
    }
    + TransportFailure.SOCKSAuthenticationFault.allCases.map { fault in
        .transport(failure(.proxyRefused, phase: .proxy) { $0.detail = fault.rawValue })
    }

@Suite struct ChappieClientErrorTests {
    @Test(arguments: everyError) func everyErrorDescriptionOmitsTheServersText(_ error: ChappieClientError) {
        let sentence = error.safeDescription
        #expect(sentence.hasSuffix("."))
        #expect(sentence.first?.isUppercase == true)
        #expect(!sentence.contains("SECRET") && !error.tag.contains("SECRET"))
        #expect(!sentence.contains("  ") && !sentence.contains(" ."))
        #expect(error.errorDescription == sentence)
        #expect(sentence == "\(error.failureReason ?? "") \(error.recoverySuggestion ?? "")")
    }

    @Test(arguments: everyError) func everyErrorIsRetryableExactlyWhenThereIsGuidance(_ error: ChappieClientError) {
        #expect(error.isRetryable == (error.retryGuidance != .none))
        #expect(!(error.isRetryable && error.requiresUserAction))
    }

    @Test func tagsAreUniqueAmongTheCodes() {
        #expect(Set(codes.map { failure($0).tag }).count == codes.count)
    }

    @Test func tagsNameTheFact() {
        #expect(ChappieClientError.httpError(429, "").tag == "http.429")
        #expect(ChappieClientError.transport(failure(.webSocketClosed) { $0.closeCode = 1008 }).tag == "ws.close.1008")
        #expect(failure(.webSocketClosed).tag == "ws.close")
        #expect(failure(.timedOut, phase: .connect).tag == "timeout.connect")
        #expect(failure(.timedOut, phase: .firstEvent).tag == "timeout.firstEvent")
        #expect(usageLimit().tag == "usage-limit")
        #expect(ChappieClientError.streamingTransportReplayDiverged("").tag == "replay.diverged")
        #expect(failedResponse("server_error").tag == "response.failed")
        #expect(failedResponse(nil, status: "incomplete").tag == "response.incomplete")
    }

    @Test(
        arguments: [
            (400, .validation), (401, .auth), (402, .permission), (403, .permission), (404, .validation),
            (407, .auth), (408, .server), (413, .validation), (422, .validation), (429, .rateLimit), (499, .validation),
            (500, .server), (503, .server), (529, .server), (599, .server), (301, .validation), (0, .server),
            (-1, .server), (Int.max, .server),
        ] as [(Int, ChappieErrorCategory)]
    ) func statusCodesHaveCategories(status: Int, category: ChappieErrorCategory) {
        #expect(ChappieClientError.httpError(status, "").category == category)
    }

    @Test func statusCodesHaveGuidance() {
        #expect(ChappieClientError.httpError(401, "").retryGuidance == .refreshAuthThenRetry)
        #expect(ChappieClientError.httpError(429, "").retryGuidance == .retryWithBackoff(afterSeconds: 30))
        #expect(ChappieClientError.httpError(503, "").isRetryable)
        #expect(!ChappieClientError.httpError(501, "").isRetryable)
        #expect(!ChappieClientError.httpError(403, "").isRetryable)
        #expect(ChappieClientError.httpError(403, "").requiresUserAction)
    }

    @Test(
        arguments: [
            ("insufficient_quota", .rateLimit, false), ("rate_limit_exceeded", .rateLimit, true),
            ("server_error", .server, true), ("invalid_prompt", .validation, false),
            ("image_too_large", .validation, false), ("invalid_base64_image", .validation, false),
            ("something_new", .server, true), (nil, .server, true), ("usage_not_included", .permission, false),
        ] as [(String?, ChappieErrorCategory, Bool)]
    ) func failedResponseCodeDeterminesItsCategory(code: String?, category: ChappieErrorCategory, isRetryable: Bool) {
        #expect(failedResponse(code).category == category)
        #expect(failedResponse(code).isRetryable == isRetryable)
    }

    @Test(
        arguments: [
            (nil, .network), (1006, .network), (1008, .permission), (1009, .validation), (1011, .server),
            (1012, .server), (4000, .server), (Int.min, .server),
        ] as [(Int?, ChappieErrorCategory)]
    ) func closeCodesHaveCategories(closeCode: Int?, category: ChappieErrorCategory) {
        let error = ChappieClientError.transport(failure(.webSocketClosed) { $0.closeCode = closeCode })
        #expect(error.category == category)
    }

    @Test func aRefusedUpgradeIsJudgedByItsStatusCode() {
        let refused = ChappieClientError.transport(failure(.openingHandshakeInvalid) { $0.statusCode = 403 })
        let wrong = ChappieClientError.transport(failure(.openingHandshakeInvalid) { $0.statusCode = 101 })
        #expect(refused.category == .permission)
        #expect(wrong.category == .server)
    }

    @Test func errorDescriptionHasProblemPlaceAndAdvice() {
        let error = ChappieClientError.transport(failure(.timedOut, phase: .connect))
        #expect(
            error.safeDescription
                == "Time ran out (while connecting, WebSocket, 2 attempts). Check the network, or allow more time.")
    }

    @Test func certificateErrorNamesTheReason() {
        let error = ChappieClientError.transport(
            failure(.certificateRejected, phase: .tls) {
                $0.detail = "expired"
                $0.issuer = "CN=a"
            })
        #expect(
            error.safeDescription
                == "The server's certificate is not trusted: it has expired (while securing the connection, WebSocket, "
                + "2 attempts). Check this machine's clock; if it is right, tell the server's operator.")
        #expect(error.unsafeMessage == "CN=a")
    }

    /// Every verdict of OpenSSL, and every alert, has a description or is reported by its number.
    @Test func everyReasonOfTLSHasAWordOfItsOwn() {
        for peer in TLSRefusal.Peer.allCases {
            #expect(Set(TLSRefusal.allCases.compactMap { $0.words(for: peer) }).count == TLSRefusal.allCases.count - 2)
        }
        let verdicts: [Int32: TLSRefusal] = [
            9: .notYetValid, 10: .expired, 18: .selfSigned, 2: .unknownIssuer, 19: .unknownIssuer,
            20: .unknownIssuer, 21: .unknownIssuer, 27: .unknownIssuer, 62: .wrongHost, 64: .wrongHost,
            23: .revoked, 7: .badSignature, 26: .wrongPurpose, 66: .tooWeak, 67: .tooWeak, 68: .tooWeak,
        ]
        for code in 1...100 as ClosedRange<Int32> {
            #expect(TLSRefusal(certificateCode: code) == verdicts[code] ?? .invalid)
        }
        let alerts = (0...255 as ClosedRange<UInt8>).compactMap { TLSRefusal(alert: $0) }
        #expect(alerts.count == 14)
        #expect(Set(alerts).count == 5)
    }

    @Test func handshakeWithAnUnsupportedVersionIsNotRetryable() {
        let refused = ChappieClientError.transport(failure(.tlsHandshakeFailed) { $0.detail = "protocol-version" })
        let broken = ChappieClientError.transport(failure(.tlsHandshakeFailed))
        #expect(refused.requiresUserAction && !refused.isRetryable)
        #expect(!broken.requiresUserAction && broken.isRetryable)
    }

    @Test func aRequestThatWasNeverSentHasNoPlace() {
        var details = ChappieTransportFailure.Details()
        details.detail = "the body is not a JSON object"
        let failure = ChappieTransportFailure(
            code: .invalidRequest, phase: .send, transport: .webSocket,
            progress: (attempts: 0, replaySafety: .notSent), details: details)
        #expect(
            failure.safeDescription == "The request cannot be sent as it is: the body is not a JSON object. "
                + "Correct the address, the fields or the body of the request.")
    }

    @Test func aPlanIsNamedOnlyWhenItIsKnown() {
        #expect(usageLimit(plan: .init(rawValue: "plus", displayName: "Plus")).safeDescription.contains("plan Plus"))
        #expect(!usageLimit(plan: .init(rawValue: "x", displayName: "SECRET")).safeDescription.contains("SECRET"))
    }

    @Test func serverMessageIsSeparateFromTheDescription() {
        #expect(ChappieClientError.httpError(500, "boom").unsafeMessage == "boom")
        #expect(failedResponse("server_error").unsafeMessage == "SECRET-words")
        #expect(
            ChappieClientError.transport(failure(.webSocketClosed) { $0.closeReason = "bye" }).unsafeMessage == "bye")
        #expect(ChappieClientError.streamingTransportReplayDiverged("text").unsafeMessage == nil)
    }
}
