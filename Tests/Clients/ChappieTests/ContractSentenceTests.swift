// Sentences of the public contract about what happens, and the tests that show them.
//
// The tests stand where the behaviour is made. A row that names a test which does not exist fails here.
import Foundation
import Testing

/// A sentence of the contract, and the tests that check it: `Folder/File.function`.
private struct Sentence: Sendable, CustomTestStringConvertible {
    let words: String
    let tests: [String]

    var testDescription: String { self.words }

    init(_ words: String, _ tests: String...) {
        self.words = words
        self.tests = tests
    }
}

private let streaming = [
    Sentence(
        "`.textDelta`: in order, never empty; concatenated they are the response's text",
        "LoopbackTests/StreamingTests.aResponseArrivesWholeAndOnce",
        "LoopbackTests/EveryByteCutTests.aCutAtAnyByteIsNotNoticed"),
    Sentence(
        "`.usageLimits`: mid-stream snapshot: `primary` and optional `secondary` window",
        "LoopbackTests/RecoveryTests.usageWindowsAreDelivered",
        "ChappieTransportTests/DriverOutputTests.newsAboutUsageLimitsIsMerged"),
    Sentence(
        "`.toolCallRequested`: the model asks for a host tool and the SDK is about to run it: name, arguments, policy",
        "LoopbackTests/ClientContractTests.aToolRunsAfterTheConsumerHasSeenItsRequest",
        "LoopbackTests/ClientToolTests.aToolRunsAndItsOutputGoesBackByItself"),
    Sentence(
        "`.toolCallCompleted`: the call, its status, output string, timing",
        "LoopbackTests/ClientToolTests.toolStatusIsReportedToTheModel",
        "LoopbackTests/ClientToolTests.aThrownErrorEndsTheTurn",
        "LoopbackTests/ClientToolTests.timeLimitEndsAToolThatNeverFinishes",
        "ChappieTests/ToolLoopStateMachineTests.callsRunAndTheModelIsAskedOnceAllHaveEnded"),
    Sentence(
        "the output goes back to the model as a follow-up request by itself",
        "LoopbackTests/ClientToolTests.aToolRunsAndItsOutputGoesBackByItself"),
    Sentence(
        "`.approvalRequested`: a tool whose policy is `ask` waits; answered through the `toolApprovalHandler`",
        "LoopbackTests/ClientToolTests.approvalHandlerDeterminesWhetherAToolRuns"),
    Sentence(
        "`.completed`: exactly once, then the stream ends cleanly",
        "LoopbackTests/ClientContractTests.aTurnWithAToolIsTheSameOverBothTransports",
        "LoopbackTests/StreamingTests.aResponseArrivesWholeAndOnce"),
    Sentence(
        "a stream that ends without `.completed` throws",
        "LoopbackTests/ClientContractTests.aStreamThatEndsWithoutCompletedThrows"),
    Sentence(
        "`.raw`: event type and payload text before any parsing",
        "ChappieTransportTests/DriverOutputTests.unsurfacedEventsArePassedOnUnparsed",
        "ChappieTransportTests/DriverOutputTests.rawEventPrecedesItsDerivedEvents"),
    Sentence(
        "`cancel()` stops the transport at once and finishes the stream",
        "LoopbackTests/CancellationTests.cancellingInMidTextClosesTheConnection",
        "LoopbackTests/CancellationTests.cancellingWhileTheAnswerIsAwaitedEndsTheWait",
        "ChappieTransportTests/DriverCancellationTests.aCredentialThatIsWaitedForIsGivenUp",
        "LoopbackTests/ClientConversationTests.cancelledTurnStopsItsToolsWithoutWaiting"),
    Sentence(
        "cancelling the consuming task, and dropping the stream, do the same",
        "LoopbackTests/CancellationTests.cancellingTheTaskInMidTextClosesTheConnection",
        "LoopbackTests/CancellationTests.aStreamThatIsDroppedHalfReadClosesTheConnection",
        "LoopbackTests/ClientConversationTests.cancelledTurnStopsItsToolsWithoutWaiting"),
    Sentence(
        "a stream cancelled while its consumer waits throws `CancellationError`, unwrapped",
        "LoopbackTests/CancellationTests.cancellingTheTaskWhileItWaitsThrows",
        "ChappieTransportTests/DriverCancellationTests.aWaitingConsumerGetsACancellationError"),
    Sentence(
        "a task that is cancelled between two elements may see the standard library end the stream without an error",
        "LoopbackTests/ClientContractTests.aTaskThatIsCancelledBetweenTwoElementsSeesTheEnd"),
    Sentence(
        "fast mode means low reasoning effort",
        "ChappieTests/RequestComposerTests.fastModeIsLowEffortUnlessTheRequestNamesAnother"),
    Sentence(
        "a request customises model, reasoning effort, service tier and search tool access for one turn",
        "LoopbackTests/ClientContractTests.requestSettingsApplyToOneTurn",
        "ChappieTests/RequestComposerTests.searchIsATool"),
]

private let transports = [
    Sentence(
        "by default every streaming turn opens or reuses a WebSocket",
        "LoopbackTests/RecoveryTests.twoTurnsUseOneSocket",
        "LoopbackTests/ClientContractTests.aTurnWithAToolIsTheSameOverBothTransports"),
    Sentence(
        "a failed WebSocket is retried, up to the limit, and then the turn and all later turns of that client use HTTP",
        "LoopbackTests/RecoveryTests.spentRetriesAreFollowedByHTTPWithTheSameText",
        "LoopbackTests/ClientContractTests.aFallbackIsForTheLifeOfTheClient",
        "ChappieTransportTests/AdaptiveFallbackTests.defaultFallbackNeverReturnsToWebSockets"),
    Sentence(
        "the consumer cannot tell the transports apart: same events, same order, same errors",
        "LoopbackTests/ClientContractTests.aTurnWithAToolIsTheSameOverBothTransports",
        "LoopbackTests/ClientContractTests.aFailureIsTheSameOverBothTransports",
        "LoopbackTests/ScenarioTests.everyExpectationHolds"),
    Sentence(
        "after a reconnect, output that was already delivered is verified and suppressed",
        "ChappieTransportTests/DriverActionTests.replayIsVerifiedAndOnlyNewOutputIsDelivered",
        "LoopbackTests/RecoveryTests.aCloseInMidTextIsNotNoticed",
        "LoopbackTests/ClientToolLoopTests.toolLoopCutAnywhereRunsEachToolOnce"),
    Sentence(
        "if the server sends something else for it, the stream throws `streamingTransportReplayDiverged(deliveredText)`",
        "LoopbackTests/RecoveryTests.differentReplayEndsTheTurn",
        "LoopbackTests/RecoveryTests.aReplayOnTheOtherTransportIsVerifiedToo"),
    Sentence(
        "doubles per retry up to the maximum", "ChappieTransportTests/RateLimitContractTests.delayDoublesUpToTheMaximum"
    ),
    Sentence(
        "`Retry-After` replaces the computed delay, and the maximum still caps it",
        "ChappieTransportTests/RateLimitContractTests.retryAfterReplacesTheDelay",
        "ChappieTransportTests/RateLimitContractTests.retryAfterMayBeADate",
        "ChappieTransportTests/RateLimitContractTests.retryAfterMayBeDisregarded"),
    Sentence("`.disabled` is no retry", "ChappieTransportTests/RateLimitContractTests.disabledIsNoRetry"),
    Sentence("negative values become 0", "ChappieTransportTests/RateLimitContractTests.negativeValuesBecomeZero"),
    Sentence(
        "used up: `usageLimitReached` if the body carries usage-limit facts, else `httpError(429, body)`",
        "ChappieTransportTests/RateLimitContractTests.exhaustedRetriesThrowUsageLimitOrHTTPError",
        "LoopbackTests/RefusalTests.tooManyRequestsForEveryRetryAreAnError"),
    Sentence(
        "`usage_limit_reached` with a reset further away than `maximumDelay` is not retried",
        "ChappieTransportTests/RateLimitContractTests.aLimitThatEndsLateIsNotWaitedFor",
        "LoopbackTests/RefusalTests.aSpentPlanIsNotRetried"),
]

private let errorsAndClients = [
    Sentence(
        "`missingCredential`, `missingAccountID`",
        "ChappieTests/EndpointTests.requestWithoutARequiredCredentialIsNotSent",
        "ChappieTests/EndpointTests.chatGPTEndpointRequiresAnAccount"),
    Sentence(
        "`missingToolHandler(String)`",
        "LoopbackTests/ClientToolTests.callWithoutAHandlerEndsTheTurnBeforeAnyToolRuns"),
    Sentence(
        "`toolApprovalDenied(String, String)` (tool, reason)",
        "LoopbackTests/ClientToolTests.anApprovalHandlerThatThrowsEndsTheTurn",
        "LoopbackTests/ClientToolTests.missingApprovalHandlerIsADenial"),
    Sentence(
        "`toolExecutionFailed(String, String)` (tool, message)", "LoopbackTests/ClientToolTests.aThrownErrorEndsTheTurn"
    ),
    Sentence("`toolLoopLimitExceeded(Int)`", "LoopbackTests/ClientToolTests.theNumberOfCallsIsLimited"),
    Sentence(
        "`responseTerminalFailure(ChappieResponse)` (raw status and error payload)",
        "ChappieTransportTests/DriverFailureTests.failedResponseThrowsATerminalFailure",
        "LoopbackTests/ClientConversationTests.aTurnThatBreaksBehindACompleteResponseKeepsIt"),
    Sentence(
        "`transport(ChappieTransportFailure)` for everything below HTTP",
        "ChappieTransportTests/DriverFailureTests.everyOtherFailureHasATagAndAPhase"),
    Sentence(
        "`ChappieUsageLimit`: `plan` (with `displayName`), `resetsAt`, windows",
        "ChappieTransportTests/DriverOutputTests.aReachedLimitHasTheWindowsThatWereSeenBefore",
        "ResponseEventsTests/UsageLimitTests.aPlanHasANameForPeople"),
    Sentence(
        "`send` returns the whole text; `response` returns `ChappieResponse`",
        "LoopbackTests/ClientConversationTests.earlierTurnsAreTheContextOfTheNext",
        "LoopbackTests/ClientConversationTests.aResponseHasItsFacts"),
    Sentence(
        "`localizedDescription` is a sentence fit for a log, for every case",
        "ChappieTransportTests/ErrorTableTests.descriptionsMatchTheTable",
        "ChappieTransportTests/ErrorTableTests.everyCaseHasARow"),
]

private let signIn = [
    Sentence(
        "`ChappieAuthError`: its cases", "ChappieSignInTests/SignInContractTests.everyCaseHasItsFacts"),
    Sentence(
        "`requiresReauthentication` is true for 400, 401 and 403 at the token endpoint and for a missing refresh token",
        "ChappieSignInTests/SignInContractTests.onlyANewSignInHelpsAfter400And401And403AndWithoutARefreshToken",
        "LoopbackTests/SignIn/CommandLoginTests.anExchangeThatIsRefusedHasItsExitCode"),
    Sentence(
        "`localizedDescription` of a sign-in's error is a sentence fit for a log, for every case",
        "ChappieSignInTests/SignInContractTests.everyCaseHasASentenceFitForALog"),
    Sentence(
        "`Chappie.authSession(configuration:)`; every argument has a default",
        "ChappieSignInTests/SignInContractTests.signInConfigurationHasDocumentedDefaults",
        "ChappieSignInTests/SignInContractTests.aSessionNeedsNoArgument"),
    Sentence(
        "no OAuth client ID is built in: it is configuration",
        "ChappieSignInTests/SignInContractTests.noClientIDIsBuiltIn",
        "LoopbackTests/SignIn/CommandLoginTests.missingClientIDSendsNoRequest"),
    Sentence(
        "`startDeviceCodeSignIn()`", "LoopbackTests/SignIn/CommandLoginTests.aCodeSignsIn",
        "LoopbackTests/SignIn/CommandLoginTests.aServerThatKeepsToTheStandardsSignsInAnAccountWithAName"),
    Sentence("sign-out", "LoopbackTests/SignIn/CommandAccountTests.signOutRemovesAndRevokes"),
    Sentence("several accounts", "LoopbackTests/SignIn/CommandAccountTests.severalAccountsArePrintedByName"),
    Sentence(
        "a device code is polled for, first at once, and the server may slow that down (RFC 8628 section 3.5)",
        "LoopbackTests/SignIn/DeviceCodeSignInTests.aPersonSignsIn",
        "LoopbackTests/SignIn/DeviceCodeSignInTests.slowDownIncreasesThePollInterval",
        "LoopbackTests/SignIn/DeviceCodeSignInTests.failedPollIsRepeated"),
    Sentence(
        "`expiredDeviceCode`, by the server's word",
        "LoopbackTests/SignIn/DeviceCodeFailureTests.aCodeThatTheServerCallsExpiredIsExpired"),
    Sentence(
        "`pollingTimeout`, by this side's clock",
        "LoopbackTests/SignIn/DeviceCodeFailureTests.pollingTimeoutEndsTheSignIn"),
    Sentence(
        "`callbackTimeout`",
        "LoopbackTests/SignIn/BrowserSignInTests.aBrowserThatDoesNotComeBackIsATimeout"),
    Sentence(
        "`cancelledSignIn`, at any moment",
        "LoopbackTests/SignIn/DeviceCodeFailureTests.cancellingTheTaskEndsTheWait",
        "LoopbackTests/SignIn/DeviceCodeFailureTests.cancellingTheTaskEndsAnUnansweredRequest",
        "LoopbackTests/SignIn/BrowserSignInTests.cancellingEndsTheWaitAndTheListener",
        "LoopbackTests/SignIn/BrowserSignInTests.aPersonOrAProgramCancelsAtTheCallback"),
    Sentence(
        "`networkFailure(String)`",
        "LoopbackTests/SignIn/DeviceCodeFailureTests.aServerThatIsNotThereIsAFailureOfTheNetwork",
        "LoopbackTests/SignIn/RefreshFailureTests.aServerThatIsGoneIsANetworkFailure",
        "LoopbackTests/SignIn/RefreshFailureTests.silentServerIsWaitedForUntilTheTimeout"),
    Sentence(
        "`missingRefreshToken`", "LoopbackTests/SignIn/DeviceCodeFailureTests.tokensWithoutARefreshTokenAreNotKept",
        "LoopbackTests/SignIn/RefreshFailureTests.missingRefreshTokenIsReported"),
    Sentence(
        "`tokenExchangeFailed(statusCode: Int, body: String)`",
        "LoopbackTests/SignIn/DeviceCodeFailureTests.refusedExchangeReportsItsStatus",
        "LoopbackTests/SignIn/RefreshFailureTests.finalRefusalRequiresASignIn",
        "LoopbackTests/SignIn/RefreshFailureTests.temporaryRefusalDoesNotRequireASignIn"),
    Sentence(
        "`authorizationDenied(String)`", "LoopbackTests/SignIn/DeviceCodeFailureTests.denialIsReported",
        "LoopbackTests/SignIn/BrowserSignInTests.denialIsReported"),
    Sentence(
        "`secureRandomFailed(statusCode: Int32)`",
        "LoopbackTests/SignIn/BrowserSignInTests.missingRandomBytesPreventASignIn"),
    Sentence(
        "`invalidResponse`", "LoopbackTests/SignIn/DeviceCodeFailureTests.invalidBodyIsReported",
        "LoopbackTests/SignIn/RefreshFailureTests.answerThatIsNotJSONIsInvalid"),
    Sentence(
        "`unknown(String)`", "LoopbackTests/SignIn/DeviceCodeFailureTests.missingDeviceLoginIsReported",
        "LoopbackTests/SignIn/DeviceCodeFailureTests.aSignInIsCompletedOnce"),
    Sentence("`refreshAuth()`", "LoopbackTests/SignIn/RefreshTests.tokensRefreshedByAnotherSessionAreReused"),
    Sentence(
        "tokens are refreshed before they expire",
        "ChappieSignInTests/RefreshScheduleTests.tokenOfOneHourIsRefreshedFiveMinutesBeforeItsExpiry",
        "LoopbackTests/SignIn/RefreshTests.aTokenThatEndsSoonIsRefreshedBeforeTheRequest",
        "LoopbackTests/SignIn/CommandAccountTests.aTokenThatHasEndedIsRenewedFirst"),
    Sentence(
        "tokens are refreshed once after an unexpected 401, in band too",
        "LoopbackTests/SignIn/RefreshTests.aTokenThatIsRejectedIsRefreshedOnce",
        "LoopbackTests/SignIn/RefreshTests.aTokenThatIsRejectedOnAnOpenWebSocketIsRefreshedOnce",
        "LoopbackTests/SignIn/RefreshTests.aServerThatRejectsTheNewTokenTooIsNotAskedAgain"),
    Sentence(
        "new tokens are stored before they are used",
        "ChappieSignInTests/KeeperTests.theTokensAreStoredBeforeTheyAreGiven",
        "LoopbackTests/SignIn/RefreshTests.theTokensAreInTheFileWhenTheRequestArrives"),
    Sentence(
        "fifty processes with one nearly expired credential: one refresh, and all go on",
        "LoopbackTests/SignIn/FiftyProcessesTests.fiftyProcessesWithOneNearlyExpiredCredentialRefreshItOnce"),
    Sentence(
        "a process that dies at any moment leaves the old credential or the new one",
        "LoopbackTests/SignIn/FiftyProcessesTests.aProcessThatDiesAtAnyCallLeavesTheOldFileOrTheNewOne",
        "ChappieSignInTests/FileStorageFailureTests.failedStoreLeavesTheOldOrTheNewCredential"),
    Sentence(
        "tokens, codes and verifiers are in no log, error, report, output, list of processes or crash",
        "LoopbackTests/SignIn/RefreshCanaryTests.linesErrorsAndReportsContainNoToken",
        "LoopbackTests/SignIn/SignInCanaryTests.noErrorAndNoAccountNamesASecretOfADevice",
        "LoopbackTests/SignIn/SignInCanaryTests.noErrorNoPageAndNoAccountNamesASecretOfABrowser",
        "LoopbackTests/SignIn/CommandCanaryTests.argumentsEnvironmentAndOutputContainNoSecret",
        "LoopbackTests/SignIn/CommandCanaryTests.theTextOfACrashHoldsNoToken",
        "LoopbackTests/SignIn/CommandLoginTests.browserSignInPassesNoSecretToProcesses"),
    Sentence(
        "the usage windows of an account", "LoopbackTests/SignIn/UsageTests.usagePathFollowsTheBaseURL",
        "ChappieTests/UsageTests.aDocumentIsReadWhole"),
]

private let additions = [
    Sentence(
        "`ChappieTransport`: a request body and a credential closure give the stream",
        "LoopbackTests/StreamingTests.aResponseArrivesWholeAndOnce"),
    Sentence(
        "`.reasoningDelta`, `.refusalDelta`", "ChappieTransportTests/DriverOutputTests.everyKindOfDeltaHasItsEvent"),
    Sentence(
        "`.diagnostic` is off by default", "ChappieTransportTests/DriverActionTests.diagnosticsAreOffUnlessAskedFor"),
    Sentence(
        "`rawEvents`: `.unsurfaced`, `.all`, `.none`",
        "ChappieTransportTests/DriverOutputTests.unsurfacedEventsArePassedOnUnparsed",
        "ChappieTransportTests/DriverOutputTests.rawEventPrecedesItsDerivedEvents",
        "ChappieTransportTests/DriverOutputTests.noRawEventsAreDeliveredWhenDisabled"),
    Sentence(
        "endpoint presets", "ChappieTests/EndpointTests.aPresetHasAnAddress",
        "LoopbackTests/ClientEndpointTests.openAIRequestUsesAWebSocketWithTheBetaField",
        "LoopbackTests/ClientEndpointTests.chatGPTRequestHasAccountAndOriginatorFields",
        "LoopbackTests/ClientEndpointTests.azureRequestUsesHTTPWithAKeyAndAPIVersion",
        "LoopbackTests/ClientEndpointTests.requestsToOtherEndpointsUseHTTPWithoutCacheKey",
        "LoopbackTests/ClientEndpointTests.unknownServerReceivesNoSpecialMembers"),
    Sentence(
        "on every error: category, retryability, guidance, user action, words, tag, whether to report it",
        "ChappieTransportTests/ErrorTableTests.categoryRetryabilityAndTagMatchTheTable",
        "ChappieTransportTests/ErrorTableTests.descriptionsMatchTheTable",
        "ChappieTransportTests/ErrorTableTests.everyCodeHasARow"),
    Sentence(
        "`ChappieTransportFailure`: phase, transport, attempts, close code and reason, status code, request ids, bytes",
        "ChappieTransportTests/DriverFailureTests.aFailedConnectionHasACodeAndItsFacts",
        "ChappieTransportTests/DriverFailureTests.closeFailureHasItsCodeReasonAndRequestID",
        "ChappieTransportTests/DriverFailureTests.cancelledAttemptReportsItsByteCountsAndTimes",
        "ChappieTransportTests/DriverFailureTests.transportPhaseMapsToThePublicPhase"),
    Sentence(
        "replay safety: `notSent`, `sentNoOutput`, `outputDelivered`, `completed`",
        "ChappieTransportTests/RecoveryPolicyTests.invalidRequestIsReportedAsNotSent",
        "ChappieTransportTests/RecoveryPolicyTests.aDivergenceHasDelivered",
        "ChappieTransportTests/RecoveryPolicyTests.runningTurnReportsItsReplaySafety",
        "LoopbackTests/ClientToolTests.theAttemptsOfATurnAreCountedThrough"),
    Sentence(
        "`ChappieStreamReport`: attempts with timings",
        "ChappieTransportTests/DriverFailureTests.cancelledAttemptReportsItsByteCountsAndTimes"),
    Sentence(
        "`ChappieStreamReport`: reconnects, fallback and why, verified replay bytes",
        "LoopbackTests/RecoveryTests.spentRetriesAreFollowedByHTTPWithTheSameText"),
    Sentence(
        "`ChappieStreamReport`: compression ratio, inter-token gaps",
        "LoopbackTests/WatchingTests.theCompressionRatioIsMeasured", "LoopbackTests/WatchingTests.gapsAreMeasured"),
    Sentence(
        "non-fatal news never ends a stream: reconnecting n of m, fell back",
        "LoopbackTests/RecoveryTests.spentRetriesAreFollowedByHTTPWithTheSameText"),
    Sentence(
        "non-fatal news never ends a stream: resumed, stalled, unknown event, sequence gap",
        "ChappieTransportTests/CursorResumeTests.afterACutTheRestIsAskedFor",
        "ChappieTransportTests/WatchingTests.aStallIsLogged",
        "ChappieTransportTests/SequenceNewsTests.unknownEventTypeIsReportedOnce",
        "ChappieTransportTests/SequenceNewsTests.sequenceGapIsReportedOnceInAnAttempt"),
    Sentence(
        "a log sink with stable fields, a metrics sink",
        "ChappieTransportTests/WatchingTests.failedTurnIsLoggedAndMeasured",
        "ChappieTransportTests/WatchingTests.successfulTurnIsLoggedAndMeasured",
        "LoopbackTests/ClientToolTests.toolsAreLoggedAndMeasuredWithoutContent"),
    Sentence("trace context in and out", "LoopbackTests/WatchingTests.attemptsLogsAndReportHaveTheSameRequestID"),
    Sentence(
        "a circuit breaker per endpoint: closed, open, half-open; 5 failures in a row, 60 s",
        "ChappieTransportTests/CircuitTests.defaultPolicyIsThatOfTheContract",
        "ChappieTransportTests/CircuitTests.afterTheThresholdTurnsFailWithoutAnAttempt",
        "ChappieTransportTests/CircuitTests.oneTurnMayTryAfterTheTimeAndItsSuccessClosesTheCircuit",
        "ChappieTransportTests/CircuitTests.onlyServerAndNetworkFailuresOpenTheCircuit"),
    Sentence(
        "run limits: tool calls, round trips, wall clock (tool time included)",
        "LoopbackTests/ClientToolTests.theNumberOfCallsIsLimited",
        "LoopbackTests/ClientToolTests.theNumberOfResponsesIsLimited",
        "LoopbackTests/ClientToolTests.timeLimitEndsAToolThatNeverFinishes",
        "LoopbackTests/ClientToolTests.timeLimitEndsASilentServer"),
    Sentence(
        "one turn at a time per conversation, or `alreadyRunning`",
        "LoopbackTests/ClientConversationTests.aSecondTurnIsRefusedAndTheFirstGoesOn"),
]

private let badInput = [
    Sentence(
        "arguments that are not JSON",
        "LoopbackTests/ClientEndpointTests.argumentsThatAreNoObjectGoBackToTheModelAndNotToTheTool"),
    Sentence(
        "an unknown tool", "LoopbackTests/ClientToolTests.callWithoutAHandlerEndsTheTurnBeforeAnyToolRuns"),
    Sentence(
        "two calls with one id",
        "LoopbackTests/ClientEndpointTests.twoDifferentCallsWithOneNameEndTheTurnAndNeitherRuns",
        "LoopbackTests/ClientEndpointTests.oneCallThatStandsTwiceRunsOnce"),
    Sentence("a call that never finishes", "LoopbackTests/ClientToolTests.timeLimitEndsAToolThatNeverFinishes"),
    Sentence("an output of 100 MB", "LoopbackTests/ClientEndpointTests.outputOf100MegabytesIsCutWithANote"),
    Sentence(
        "a tool that throws after cancel",
        "LoopbackTests/ClientConversationTests.cancelledTurnStopsItsToolsWithoutWaiting",
        "ChappieTests/ToolLoopStateMachineTests.inputsAfterTheEndAreIgnored"),
    Sentence(
        "an approval that never comes", "LoopbackTests/ClientConversationTests.anApprovalThatNeverComesEndsWithTheTurn"),
    Sentence("invalid UTF-8 from a command", "ChappieCommandTests/CommandToolTests.bytesThatAreNotUTF8AreReplaced"),
    Sentence("a context from another version", "ChappieTests/ClientContextTests.anotherVersionIsAClearError"),
    Sentence("a body that is none", "LoopbackTests/ClientEndpointTests.invalidBodyFailsBeforeARequestIsSent"),
]

@Suite struct ContractSentenceTests {
    private static let tests = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    /// The paths of the tests' files below `tests`.
    private static let files = try? FileManager.default.subpathsOfDirectory(atPath: tests.path)

    @Test(arguments: streaming + transports + errorsAndClients + signIn + additions + badInput)
    fileprivate func isShown(_ sentence: Sentence) throws {
        #expect(!sentence.tests.isEmpty)
        for test in sentence.tests {
            let parts = test.split(separator: ".", maxSplits: 1).map(String.init)
            try #require(parts.count == 2)
            let source = try Self.source(of: parts[0])
            #expect(Self.hasTest(parts[1], in: source), "\(test) does not exist")
        }
    }

    /// SECURITY.md names a suite, or a command, for each attack.
    @Test func everyAttackHasASuiteThatExists() throws {
        let root = Self.tests.deletingLastPathComponent()
        let security = try String(contentsOf: root.appending(path: "SECURITY.md"), encoding: .utf8)
        let lines = security.split(separator: "\n").drop { $0 != "| attack | what is done | test |" }
        let rows = lines.dropFirst(2).prefix { $0.hasPrefix("|") }
        #expect(rows.count > 10)
        var sources: [String] = []
        for folder in try FileManager.default.subpathsOfDirectory(atPath: Self.tests.path)
        where folder.hasSuffix("Tests.swift") {
            sources.append(try String(contentsOf: Self.tests.appending(path: folder), encoding: .utf8))
        }
        for row in rows {
            let cells = row.split(separator: "|", omittingEmptySubsequences: true)
            try #require(cells.count == 3, "\(row)")
            let names = cells[2].split(separator: "`").filter { $0.hasSuffix("Tests") }
            #expect(!names.isEmpty, "\(row) names no suite")
            for name in names {
                #expect(
                    sources.contains { $0.contains("struct \(name) {") || $0.contains("struct \(name): ") },
                    "\(name) does not exist")
            }
        }
    }

    /// Returns the source of `Folder/File`, in whatever folder of that folder it is.
    private static func source(of name: String) throws -> String {
        let end = name.lastIndex(of: "/") ?? name.startIndex
        let path = Self.files?.first { $0.contains("/\(name[..<end])/") && $0.hasSuffix("\(name[end...]).swift") }
        return try String(
            contentsOf: Self.tests.appending(path: try #require(path, "\(name) is no file")), encoding: .utf8)
    }

    /// Returns whether a function of that name stands behind a `@Test` with no other function between them.
    private static func hasTest(_ name: String, in source: String) -> Bool {
        guard let place = source.range(of: "func \(name)(") else { return false }
        guard let mark = source[..<place.lowerBound].range(of: "@Test", options: .backwards) else { return false }
        return !source[mark.upperBound..<place.lowerBound].contains("func ")
    }

    @Test("`ServerSentEvents`, a product of its own without a dependency; `ChappieTransport`; `ChappieTestServer`")
    func products() throws {
        let root = Self.tests.deletingLastPathComponent()
        let package = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
        for name in ["ServerSentEvents", "ChappieTransport", "Chappie", "ChappieSignIn", "ChappieTestServer"] {
            #expect(package.contains(#".library(name: "\#(name)""#))
        }
        #expect(!package.contains(".package("))
        let folder = root.appending(path: "Sources/Protocols/ServerSentEvents")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }
        let imports = try files.flatMap { try String(contentsOf: $0, encoding: .utf8).split(separator: "\n") }
            .filter { $0.contains("import ") && !$0.drop { $0 == " " }.hasPrefix("//") }
        #expect(!imports.isEmpty && imports.allSatisfy { $0.hasSuffix("import CLineTerminatorScan") })
    }

    @Test func aNameThatIsNoTestIsNoticed() {
        let source = "@Test(arguments: [1])\n    func a(x: Int) {}\n    func b() {}\n    @Test func abc() {}"
        #expect(Self.hasTest("a", in: source))
        #expect(Self.hasTest("abc", in: source))
        #expect(!Self.hasTest("b", in: source))
        #expect(!Self.hasTest("ab", in: source))
    }
}
