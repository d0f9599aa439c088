// The table of failure classes, row by row.
import StreamSession
import StreamTransport
import Testing

@Suite struct FailureClassificationTests {
    @Test(arguments: 100..<600)
    func statusCodeOfTheUpgradeDeterminesTheFailureClass(statusCode: Int) {
        let expected: FailureClass =
            switch statusCode {
            case 401: .credential
            case 429: .throttle
            case 408: .transient
            case 501, 505: .definite
            case 500...: .transient
            default: .definite
            }
        #expect(AttemptFailure.upgradeStatus(RefusalFacts(statusCode: statusCode)).failureClass == expected)
    }

    @Test(arguments: 100..<600)
    func statusCodeOfTheResponseDeterminesTheFailureClass(statusCode: Int) {
        let expected: FailureClass =
            switch statusCode {
            case 401: .credential
            case 429: .throttle
            case 501, 505: .fatal
            // The server refuses the protocol (RFC 9110 section 15.5.22).
            case 426: .definite
            case 408, 409, 425, 500...: .server
            default: .fatal
            }
        let facts = RefusalFacts(statusCode: statusCode)
        #expect(AttemptFailure.httpStatus(facts).failureClass == expected)
        #expect(AttemptFailure.errorEvent(facts).failureClass == expected)
    }

    @Test(arguments: [Int.min, -1, 0, 99, 600, 1_000, Int.max])
    func statusCodesOutOfRangeAreFinal(statusCode: Int) {
        let facts = RefusalFacts(statusCode: statusCode)
        #expect(AttemptFailure.upgradeStatus(facts).failureClass == .definite)
        #expect(AttemptFailure.httpStatus(facts).failureClass == .fatal)
    }

    static let codes: [(String, FailureClass)] = [
        ("websocket_connection_limit_reached", .transient),
        ("previous_response_not_found", .fatal),
        ("websocket_stream_limit_reached", .fatal),
        ("rate_limit_exceeded", .throttle),
        ("slow_down", .throttle),
        ("usage_limit_reached", .usageLimit),
        ("usage_not_included", .usageLimit),
        ("insufficient_quota", .usageLimit),
        ("organization_spend_limit_exceeded", .usageLimit),
        ("organization_usage_limit_exceeded", .usageLimit),
        ("server_is_overloaded", .server),
        ("context_length_exceeded", .fatal),
        ("invalid_prompt", .fatal),
        ("bio_policy", .fatal),
        ("cyber_policy", .fatal),
        ("misalignment_policy_violation", .fatal),
        ("data_residency_mismatch", .fatal),
        ("invalid_image", .fatal),
        ("image_too_large", .fatal),
        ("unsupported_image_media_type", .fatal),
        ("image_file_not_found", .fatal),
        ("server_error", .server),
        ("vector_store_timeout", .server),
        ("internal_server_error", .server),
        ("503", .server),
        // Codes of a filter, an account or a single member of the request.
        ("content_filter", .fatal),
        ("content_policy_violation", .fatal),
        ("unsupported_value", .fatal),
        ("unsupported_parameter", .fatal),
        ("tool_use_failed", .fatal),
        ("400", .fatal),
        ("billing_hard_limit_reached", .usageLimit),
        ("billing_not_active", .usageLimit),
        ("invalid_api_key", .credential),
        ("invalid_request_error", .fatal),
        ("model_not_found", .fatal),
        ("invalid_stream_id", .fatal),
        ("authentication_error", .credential),
        ("permission_error", .fatal),
        ("not_found_error", .fatal),
        ("rate_limit_error", .throttle),
    ]

    @Test(arguments: codes)
    func errorCodeInAnEventDeterminesTheFailureClass(code: String, expected: FailureClass) {
        let facts = RefusalFacts(errorCode: code)
        #expect(AttemptFailure.responseFailed(facts).failureClass == expected)
        #expect(AttemptFailure.errorEvent(facts).failureClass == expected)
    }

    /// A status code beside it is more precise.
    @Test func serverErrorIsATypeAsWell() {
        let typed = RefusalFacts(errorCode: "server_error", errorType: "server_error")
        #expect(AttemptFailure.errorEvent(typed).failureClass == .server)
        #expect(AttemptFailure.errorEvent(RefusalFacts(errorType: "server_error")).failureClass == .server)
        let refused = RefusalFacts(statusCode: 400, errorType: "server_error")
        #expect(AttemptFailure.errorEvent(refused).failureClass == .fatal)
        #expect(AttemptFailure.httpStatus(refused).failureClass == .fatal)
    }

    @Test func anImageThatCouldNotBeDownloadedIsAskedForAgain() {
        let facts = RefusalFacts(errorCode: "failed_to_download_image")
        #expect(AttemptFailure.responseFailed(facts).failureClass == .server)
        #expect(AttemptFailure.errorEvent(facts).failureClass == .server)
    }

    @Test(arguments: [nil, "something_new", "429"] as [String?])
    func theTypeDecidesWhereTheCodeIsUnknown(code: String?) {
        let throttled = RefusalFacts(errorCode: code, errorType: "rate_limit_error")
        #expect(AttemptFailure.errorEvent(throttled).failureClass == .throttle)
        #expect(AttemptFailure.responseFailed(throttled).failureClass == .throttle)
        let forgotten = RefusalFacts(errorCode: "previous_response_not_found", errorType: "invalid_request_error")
        #expect(AttemptFailure.errorEvent(forgotten).failureClass == .fatal)
    }

    @Test func aStatusCodeIsMorePreciseThanAType() {
        let refused = RefusalFacts(statusCode: 401, errorCode: "token_expired", errorType: "invalid_request_error")
        #expect(AttemptFailure.httpStatus(refused).failureClass == .credential)
        #expect(AttemptFailure.errorEvent(refused).failureClass == .credential)
    }

    @Test func aFailedResponseWithoutAKnownCodeIsTheServersAndAnErrorEventIsFinal() {
        for code in [nil, "", "something_new"] {
            #expect(AttemptFailure.responseFailed(RefusalFacts(errorCode: code)).failureClass == .server)
            #expect(AttemptFailure.errorEvent(RefusalFacts(errorCode: code)).failureClass == .fatal)
        }
        #expect(AttemptFailure.errorEvent(RefusalFacts(statusCode: 500)).failureClass == .server)
    }

    @Test func aKnownCodeGoesBeforeTheStatusCode() {
        let old = RefusalFacts(statusCode: 400, errorCode: "websocket_connection_limit_reached")
        #expect(AttemptFailure.errorEvent(old).failureClass == .transient)
        #expect(AttemptFailure.httpStatus(old).failureClass == .transient)
        let overloaded = RefusalFacts(statusCode: 503, errorCode: "server_is_overloaded")
        #expect(AttemptFailure.errorEvent(overloaded).failureClass == .server)
        #expect(AttemptFailure.httpStatus(overloaded).failureClass == .server)
        #expect(AttemptFailure.upgradeStatus(overloaded).failureClass == .server)
        let unknown = RefusalFacts(statusCode: 400, errorCode: "something_new")
        #expect(AttemptFailure.errorEvent(unknown).failureClass == .fatal)
    }

    @Test func usageLimitIsClassifiedWithAnyStatusCode() {
        let spent = RefusalFacts(statusCode: 429, usageLimit: UsageLimitFacts())
        let named = RefusalFacts(statusCode: 403, errorCode: "usage_not_included")
        for facts in [spent, named] {
            #expect(AttemptFailure.upgradeStatus(facts).failureClass == .usageLimit)
            #expect(AttemptFailure.httpStatus(facts).failureClass == .usageLimit)
            #expect(AttemptFailure.errorEvent(facts).failureClass == .usageLimit)
            #expect(AttemptFailure.responseFailed(facts).failureClass == .usageLimit)
        }
    }

    @Test func anUpgradeIsJudgedByItsStatusCodeAlone() {
        let facts = RefusalFacts(statusCode: 400, errorCode: "invalid_prompt")
        #expect(AttemptFailure.upgradeStatus(facts).failureClass == .definite)
        let throttled = RefusalFacts(statusCode: 503, errorCode: "slow_down")
        #expect(AttemptFailure.upgradeStatus(throttled).failureClass == .throttle)
    }

    @Test(arguments: [0, 999, 1000, 1001, 1004, 1005, 1006, 1011, 1012, 1013, 1014, 1015, 3000, 4000, 4999, 65535])
    func otherCloseCodesAreTransient(code: UInt16) {
        #expect(AttemptFailure.closed(code: code, beforeFirstEvent: true).failureClass == .transient)
        #expect(AttemptFailure.closed(code: code, beforeFirstEvent: false).failureClass == .transient)
    }

    @Test func protocolPolicyAndSizeCloseCodesHaveTheirFailureClass() {
        #expect(AttemptFailure.closed(code: 1008, beforeFirstEvent: true).failureClass == .definite)
        #expect(AttemptFailure.closed(code: 1008, beforeFirstEvent: false).failureClass == .transient)
        for beforeFirstEvent in [true, false] {
            #expect(AttemptFailure.closed(code: 1009, beforeFirstEvent: beforeFirstEvent).failureClass == .size)
            for code in [1002, 1003, 1007, 1010] as [UInt16] {
                let failure = AttemptFailure.closed(code: code, beforeFirstEvent: beforeFirstEvent)
                #expect(failure.failureClass == .probable)
            }
        }
    }

    static let plain: [(AttemptFailure, FailureClass)] = [
        (.endedEarly, .transient), (.endedWithoutEvent, .probable), (.timeout(.firstEvent), .transient),
        (.timeout(.idle), .transient),
        (.timeout(.total), .fatal), (.undecodableEvent, .probable), (.binaryMessage, .probable),
        (.requestTooLarge, .size), (.eventTooLarge(limit: 1), .fatal), (.unexpectedContentType, .fatal),
        (.responseIncomplete(reason: "max_output_tokens"), .fatal), (.responseIncomplete(reason: nil), .fatal),
    ]

    @Test(arguments: plain)
    func streamFailureHasItsFailureClass(failure: AttemptFailure, expected: FailureClass) {
        #expect(failure.failureClass == expected)
    }

    static let causes: [(TransportFailure.Cause, FailureClass)] = [
        (.openingHandshakeInvalid(.accept), .definite), (.headerSectionTooLarge(limit: 1), .definite),
        (.certificateRejected(code: 10), .definite), (.unsupportedContentCoding, .definite),
        (.unsupportedTransferCoding, .definite),
        (.tlsAlert(70), .definite), (.tlsAlert(116), .definite), (.tlsAlert(48), .definite),
        (.tlsAlert(40), .probable), (.tlsAlert(80), .probable),
        (.keyNotPinned, .fatal), (.clientCertificateUnreadable, .fatal),
        (.tlsHandshakeFailed, .probable), (.unreachable(code: 111), .probable),
        (.unresolvable(code: -2), .probable), (.notHTTP, .probable), (.protocolSwitched, .fatal),
        (.protocolViolation(closeCode: 1002), .probable), (.peerUnresponsive, .transient),
        (.corruptContentCoding, .transient), (.invalidRequest("field"), .fatal), (.messageTooLarge(limit: 1), .fatal),
        (.trustAnchorsUnreadable, .fatal), (.cancelled, .fatal), (.unavailable, .fatal),
        (.proxyInvalid("port"), .fatal), (.proxyRefused(statusCode: 401), .fatal),
        (.proxyRefused(statusCode: 407), .fatal), (.proxyRefused(statusCode: 403), .probable),
        (.proxyRefused(statusCode: 502), .probable),
        (.socksAuthenticationRefused(.credentialMissing), .fatal),
        (.socksAuthenticationRefused(.credentialRefused), .fatal),
        (.socksAuthenticationRefused(.methodsRefused), .fatal),
        (.socksRefused(code: 1), .probable), (.socksRefused(code: 2), .probable),
        (.socksRefused(code: 3), .probable), (.socksRefused(code: 0xFF), .probable), (.notSOCKS, .probable),
    ]

    @Test(arguments: causes)
    func causeHasTheSameClassInEveryPhase(cause: TransportFailure.Cause, expected: FailureClass) {
        for phase in TransportFailure.Phase.allCases {
            let failure = AttemptFailure.transport(TransportFailure(phase: phase, cause: cause))
            #expect(failure.failureClass == expected)
        }
    }

    @Test(arguments: TransportFailure.Phase.allCases)
    func timeoutsAndLossesAreClassifiedByPhase(phase: TransportFailure.Phase) {
        let early: [TransportFailure.Phase] = [.resolve, .connect, .proxy, .tls, .upgrade]
        let timeout = AttemptFailure.transport(TransportFailure(phase: phase, cause: .timedOut))
        #expect(timeout.failureClass == (early.contains(phase) ? .probable : .transient))
        let loss = AttemptFailure.transport(TransportFailure(phase: phase, cause: .connectionLost))
        #expect(loss.failureClass == ([.proxy, .tls].contains(phase) ? .probable : .transient))
    }

    @Test func everyFailureClassHasItsFallbackRule() {
        let fallbacks = FailureClass.allCases.map(\.fallback)
        #expect(
            fallbacks == [
                .atOnce, .afterRetries, .withoutVerdict, .afterRetries, .never, .forThisRequest, .never, .never,
                .never, .never,
            ])
    }

    @Test func factsAreFoundInEveryRefusal() {
        let facts = RefusalFacts(
            statusCode: 429, retryAfter: .seconds(3), usageLimit: UsageLimitFacts(resetsAfter: .seconds(9)))
        for failure in [
            AttemptFailure.upgradeStatus(facts), .httpStatus(facts), .errorEvent(facts), .responseFailed(facts),
        ] {
            #expect(failure.retryAfter == .seconds(3))
            #expect(failure.usageLimit?.resetsAfter == .seconds(9))
        }
        #expect(AttemptFailure.endedEarly.retryAfter == nil)
        #expect(AttemptFailure.requestTooLarge.usageLimit == nil)
    }
}
