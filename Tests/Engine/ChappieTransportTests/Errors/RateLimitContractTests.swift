// The contract of `ChappieRateLimitBackoffPolicy`, sentence by sentence, over both transports.
import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

/// The form of a 429: the answer to a POST, the answer to the upgrade, or an error event.
private enum Way: CaseIterable, Sendable {
    case post, upgrade, event

    /// One refusal.
    func script(body: String, fields: [String: String] = [:]) -> [ScriptStep] {
        switch self {
        case .post, .upgrade:
            return .refusal(429, body: body, fields: fields)
        case .event:
            let headers = fields.map { #""\#($0.key)":"\#($0.value)""# }.joined(separator: ",")
            let members = body.hasPrefix("{") ? "," + body.dropFirst() : "}"
            return .webSocket(#"{"type":"error","status":429,"headers":{\#(headers)}"# + members)
        }
    }

    var success: [ScriptStep] { self == .post ? .eventStream(Event.completed) : .webSocket(Event.completed) }
}

@Suite struct RateLimitContractTests {
    private static let plain = #"{"error":{"type":"requests","code":"slow_down","message":"slow"}}"#

    private static func limit(resetsIn seconds: Int?) -> String {
        let member = seconds.map { #","resets_in_seconds":\#($0)"# } ?? ""
        return #"{"error":{"type":"usage_limit_reached","message":"m","plan_type":"plus"\#(member)}}"#
    }

    /// Returns the delays of a turn, and its end, after a number of refusals.
    private static func run(
        _ way: Way, body: String = Self.plain, fields: [String: String] = [:], count: Int,
        policy: ChappieRateLimitBackoffPolicy = .default
    ) async -> (sleeps: [Duration], outcome: TurnOutcome) {
        let scripts = Array(repeating: way.script(body: body, fields: fields), count: count) + [way.success]
        let fixture = TurnFixture(scripts) {
            $0.rateLimitBackoff = policy
            if way == .post { $0.policy = .httpSSEOnly }
            // A refused upgrade is not repeated over HTTP.
            if way != .post { $0.policy = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false) }
        }
        let outcome = await fixture.run()
        return (fixture.clock.sleeps, outcome)
    }

    // "ChappieRateLimitBackoffPolicy(maxRetries: 2, initialDelay: 1 s, maximumDelay: 30 s, respectsRetryAfterHeader:
    // true)"
    @Test func defaultPolicyIsThatOfTheContract() {
        let policy = ChappieRateLimitBackoffPolicy()
        #expect(policy == .default)
        #expect(policy.maxRetries == 2 && policy.initialDelay == .seconds(1) && policy.maximumDelay == .seconds(30))
        #expect(policy.respectsRetryAfterHeader)
    }

    // "`.disabled` (= `maxRetries: 0`)"
    @Test(arguments: Way.allCases) fileprivate func disabledIsNoRetry(way: Way) async {
        #expect(ChappieRateLimitBackoffPolicy.disabled == ChappieRateLimitBackoffPolicy(maxRetries: 0))
        let (sleeps, outcome) = await Self.run(way, count: 1, policy: .disabled)
        #expect(sleeps.isEmpty && outcome.clientError?.tag == "http.429")
    }

    // "Doubles per retry up to the maximum."
    @Test(arguments: Way.allCases) fileprivate func delayDoublesUpToTheMaximum(way: Way) async {
        let policy = ChappieRateLimitBackoffPolicy(maxRetries: 5, maximumDelay: .seconds(7))
        let (sleeps, outcome) = await Self.run(way, count: 5, policy: policy)
        #expect(sleeps == [.seconds(1), .seconds(2), .seconds(4), .seconds(7), .seconds(7)])
        #expect(outcome.error == nil)
    }

    // "`Retry-After` replaces the computed delay, and the maximum still caps it."
    @Test(
        arguments: Way.allCases,
        [
            (["retry-after": "3"], 3_000), (["Retry-After": "2.5"], 2_500), (["retry-after": "0"], 1_000),
            (["retry-after": "31"], 30_000), (["retry-after": "86400"], 30_000), (["retry-after": "-3"], 1_000),
            (["retry-after-ms": "250", "retry-after": "9"], 250), (["retry-after-ms": "0"], 1_000),
            (["retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"], 1_000),
            (["retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"], 30_000), (["retry-after": "soon"], 1_000),
        ] as [([String: String], Int)])
    fileprivate func retryAfterReplacesTheDelay(way: Way, given: ([String: String], Int)) async {
        let (sleeps, outcome) = await Self.run(way, fields: given.0, count: 1)
        #expect(sleeps == [.milliseconds(given.1)])
        #expect(outcome.error == nil)
    }

    /// RFC 9110 section 10.2.3: as a date, in each of its forms.
    @Test(
        arguments: Way.allCases,
        ["EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy"])
    fileprivate func retryAfterMayBeADate(way: Way, format: String) async {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = format
        let date = Date(timeIntervalSince1970: Double(ManualClock.unixTimeAtStart + 20))
        let (sleeps, _) = await Self.run(way, fields: ["retry-after": formatter.string(from: date)], count: 1)
        #expect(sleeps == [.seconds(20)])
    }

    @Test(arguments: Way.allCases) fileprivate func retryAfterMayBeDisregarded(way: Way) async {
        let policy = ChappieRateLimitBackoffPolicy(respectsRetryAfterHeader: false)
        let (sleeps, _) = await Self.run(way, fields: ["retry-after": "9"], count: 2, policy: policy)
        #expect(sleeps == [.seconds(1), .seconds(2)])
    }

    // "Negative values become 0."
    @Test(arguments: Way.allCases) fileprivate func negativeValuesBecomeZero(way: Way) async {
        let policy = ChappieRateLimitBackoffPolicy(
            maxRetries: -1, initialDelay: .seconds(-1), maximumDelay: .seconds(-1))
        #expect(policy == ChappieRateLimitBackoffPolicy(maxRetries: 0, initialDelay: .zero, maximumDelay: .zero))
        #expect(await Self.run(way, count: 1, policy: policy).sleeps.isEmpty)
        let quick = ChappieRateLimitBackoffPolicy(initialDelay: .seconds(-1), maximumDelay: .seconds(-1))
        #expect(await Self.run(way, count: 2, policy: quick).sleeps == [.zero, .zero])
    }

    // "When the retries are used up: `usageLimitReached` if the body carries usage-limit facts, else `httpError(429,
    // body)`."
    @Test(arguments: Way.allCases) fileprivate func exhaustedRetriesThrowUsageLimitOrHTTPError(way: Way) async {
        let plain = await Self.run(way, count: 3)
        #expect(plain.sleeps == [.seconds(1), .seconds(2)])
        guard case .httpError(429, let body)? = plain.outcome.clientError else {
            return #expect(Bool(false), "\(String(describing: plain.outcome.error))")
        }
        #expect(body.contains("slow_down"))
        let limited = await Self.run(way, body: Self.limit(resetsIn: 0), count: 3)
        #expect(limited.sleeps.count == 2)
        #expect(limited.outcome.clientError?.tag == "usage-limit")
    }

    @Test(arguments: Way.allCases) fileprivate func rateLimitWithoutFactsEndsAsHTTP429(way: Way) async {
        let (_, outcome) = await Self.run(way, body: way == .event ? Self.plain : "<html>", count: 3)
        #expect(outcome.clientError?.tag == "http.429")
    }

    // "A body that says `usage_limit_reached` with a reset further away than `maximumDelay` is not retried: waiting is
    // useless."
    @Test(arguments: Way.allCases, [31, 86_400, nil] as [Int?])
    fileprivate func aLimitThatEndsLateIsNotWaitedFor(way: Way, seconds: Int?) async {
        let (sleeps, outcome) = await Self.run(way, body: Self.limit(resetsIn: seconds), count: 1)
        #expect(sleeps.isEmpty)
        guard case .usageLimitReached(let limit)? = outcome.clientError else {
            return #expect(Bool(false), "\(String(describing: outcome.error))")
        }
        #expect(limit.type == "usage_limit_reached" && limit.plan?.displayName == "Plus")
        #expect((limit.resetsAt == nil) == (seconds == nil))
    }

    @Test(arguments: Way.allCases) fileprivate func aLimitThatEndsSoonIsWaitedFor(way: Way) async {
        let (sleeps, outcome) = await Self.run(way, body: Self.limit(resetsIn: 20), count: 1)
        #expect(sleeps == [.seconds(20)] && outcome.error == nil)
    }

    // MARK: The one message that decides

    /// PROTOCOL 4.5: the message of `rate_limit_exceeded` only.
    @Test(
        arguments: Way.allCases,
        [
            ("rate_limit_exceeded", "Please try again in 11.054s.", 11_054),
            ("rate_limit_exceeded", "Try again in 28ms", 28), ("rate_limit_exceeded", "try again in 7s 500ms", 7_500),
            ("rate_limit_exceeded", "try again in 7m12s", 30_000), ("rate_limit_exceeded", "try again in 1d2h", 30_000),
            ("rate_limit_exceeded", "try again in a while", 1_000), ("slow_down", "try again in 11s", 1_000),
            ("", "try again in 11s", 1_000),
        ])
    fileprivate func theMessageOfARateLimitMayNameTheDelay(way: Way, given: (String, String, Int)) async {
        let body = #"{"error":{"code":"\#(given.0)","message":"\#(given.1)"}}"#
        let (sleeps, outcome) = await Self.run(way, body: body, count: 1)
        #expect(sleeps == [.milliseconds(given.2)] && outcome.error == nil)
    }

    @Test(arguments: Way.allCases) fileprivate func retryAfterFieldPrecedesTheDelayInTheMessage(way: Way) async {
        let body = #"{"error":{"code":"rate_limit_exceeded","message":"try again in 11s"}}"#
        #expect(await Self.run(way, body: body, fields: ["retry-after": "2"], count: 1).sleeps == [.seconds(2)])
    }

    /// In a response that failed there are no fields.
    @Test func delayIsReadFromAFailedResponse() async {
        let event =
            #"{"type":"response.failed","response":{"id":"r","status":"failed","error":"#
            + #"{"code":"rate_limit_exceeded","message":"try again in 1.5s"}}}"#
        let fixture = TurnFixture([.webSocket(event), .webSocket(Event.completed)])
        #expect(await fixture.run().error == nil)
        #expect(fixture.clock.sleeps == [.milliseconds(1_500)])
    }

    // MARK: No other message

    /// The same error with another message: the same attempts, the same delays, the same facts.
    @Test(
        arguments: [
            (400, "invalid_request_error"), (401, "token_expired"), (403, ""), (404, ""), (408, ""), (409, ""),
            (429, "slow_down"), (429, "usage_limit_reached"), (429, "insufficient_quota"), (500, "server_error"),
            (503, "server_is_overloaded"), (503, ""), (529, ""),
        ], Way.allCases)
    fileprivate func messagesOfOtherErrorsDoNotChangeTheirHandling(error: (Int, String), way: Way) async {
        let messages = [
            "", "Please try again in 11s", "usage_limit_reached", "rate_limit_exceeded", "401 Unauthorized",
            "insufficient_quota", "previous_response_not_found", "retry-after: 7", "<html>Cloudflare blocked",
        ]
        var seen: [String] = []
        for message in messages {
            let body = #"{"error":{"type":"\#(error.1)","message":"\#(message)"}}"#
            let script: [ScriptStep] =
                way == .event
                ? .webSocket(#"{"type":"error","status":\#(error.0),"# + body.dropFirst())
                : .refusal(error.0, body: body)
            let fixture = TurnFixture(Array(repeating: script, count: 20)) {
                $0.policy =
                    way == .post ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
                $0.credential = { _ in nil }
            }
            let outcome = await fixture.run()
            let error = outcome.clientError
            seen.append(
                "\(fixture.clock.sleeps) \(outcome.outcomes) \(error?.tag ?? "") \(String(describing: error?.category)) "
                    + "\(String(describing: error?.retryGuidance)) \(error?.safeDescription ?? "")")
        }
        #expect(Set(seen).count == 1, "\(seen)")
    }
}
