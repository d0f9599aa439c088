// Error bodies and error events in all their shapes.

import HTTPProtocol
import Testing

@testable import ResponseEvents

@Suite struct ServerErrorFactsTests {
    @Test func aUsageLimitIsRead() throws {
        let body = #"""
            {"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus",
            "resets_at":1795256523,"resets_in_seconds":13872,"eligible_promo":null,"limit_window_minutes":300}}
            """#
        let facts = try #require(ServerErrorFacts(body: body.utf8))
        #expect(facts.limitWindowMinutes == 300)
        let limit = try #require(UsageLimitError(facts) { $0 == "usage_limit_reached" })
        #expect(limit.type == "usage_limit_reached")
        #expect(limit.code == nil)
        #expect(limit.message == "The usage limit has been reached")
        #expect(limit.planType == "plus")
        #expect(limit.resetsAt == 1_795_256_523)
        #expect(limit.resetsInSeconds == 13_872)
    }

    @Test(arguments: [
        (#"{"type":"limit"}"#, "limit"), (#"{"code":"limit","type":"x"}"#, "limit"),
        (#"{"code":"throttle","type":"tokens"}"#, nil), (#"{"message":"limit"}"#, nil),
    ])
    func aLimitIsFoundByTypeOrCode(error: String, type: String?) throws {
        let facts = try #require(ServerErrorFacts(body: #"{"error":\#(error)}"#.utf8))
        #expect(UsageLimitError(facts) { $0 == "limit" }?.type == type)
    }

    @Test func firstErrorOfAnArrayIsRead() {
        let body = #"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}},{"error":{"message":"n"}}]"#
        let facts = ServerErrorFacts(body: body.utf8)
        #expect(facts?.code == "429" && facts?.message == "m")
        for text in [body, body + "\nretry-after: 3"] {
            #expect(RefusalText(text).error == facts && RefusalText(text).words == "m")
        }
        #expect(RefusalText(body + "\nretry-after: 3").retryAfter == .seconds(3))
        for other in ["[]", "[1]", "[[]]", "[{}]", #"[{"error":null}]"#, #"[{"message":"m"}]"#, #"[{"error":{}}"#] {
            #expect(ServerErrorFacts(body: other.utf8) == nil)
        }
    }

    @Test func detailTextAndFlatErrorsAreRead() {
        #expect(
            ServerErrorFacts(body: #"{"detail":"Store must be set to false"}"#.utf8)?.message
                == "Store must be set to false")
        #expect(ServerErrorFacts(body: #"{"detail":{"code":"c","message":"m"}}"#.utf8)?.code == "c")
        #expect(ServerErrorFacts(body: #"{"error":"overloaded"}"#.utf8)?.message == "overloaded")
        #expect(ServerErrorFacts(body: #"{"code":"invalid-argument","error":"m"}"#.utf8)?.code == "invalid-argument")
        let flat = ServerErrorFacts(body: #"{"code":429,"message":"m","param":"p"}"#.utf8)
        #expect(flat?.code == "429")
        #expect(flat?.parameter == "p")
    }

    @Test(arguments: [
        "", "<html><body>502 Bad Gateway</body></html>", "{}", "[]", "null", #"{"error":null}"#, #"{"error":{}}"#,
        #"{"error":{"code":null,"message":null}}"#, #"{"detail":[{"msg":"x"}]}"#, #"{"error":{"code":"x"#,
        "{\"error\":\"\u{1}\"}",
        "\0\0\0", #"{"error":{"resets_at":-1}}"#,
    ])
    func bodyWithoutAnErrorHasNoFacts(body: String) {
        #expect(ServerErrorFacts(body: body.utf8) == nil)
    }

    @Test func aBodyIsReadUpToItsLimit() {
        for (count, isRead) in [(65_535, true), (65_536, true), (65_537, false)] {
            let filler = String(repeating: "x", count: count - #"{"error":""}"#.utf8.count)
            let body = Array(#"{"error":"\#(filler)"}"#.utf8)
            #expect(body.count == count)
            #expect((ServerErrorFacts(body: body) != nil) == isRead)
        }
    }

    @Test func endOfALimitIsTheServersOrComputed() throws {
        let limit = { (members: String) in
            UsageLimitError(
                try #require(ServerErrorFacts(body: #"{"error":{"type":"usage_limit_reached"\#(members)}}"#.utf8)),
                where: { $0 == "usage_limit_reached" })
        }
        let headers = UsageLimitHeaders([
            ("x-codex-primary-used-percent", "100"), ("x-codex-primary-reset-at", "77"),
        ])
        #expect(try limit(#","resets_at":5,"resets_in_seconds":9"#)?.resetsAt(now: 100) == 5)
        #expect(try limit(#","resets_in_seconds":9"#)?.resetsAt(now: 100, headers: headers) == 109)
        #expect(try limit("")?.resetsAt(now: 100, headers: headers) == 77)
        #expect(try limit("")?.resetsAt(now: 100) == nil)
        #expect(try limit(#","resets_in_seconds":9223372036854775807"#)?.resetsAt(now: 100) == Int.max)
    }

    // MARK: Events

    @Test(arguments: [
        (#""status":429,"#, 429), (#""status_code":429,"#, 429), (#""statusCode":429,"#, 429), ("", nil),
        (#""status":"503","#, 503),
        (#""status":99,"#, nil), (#""status":1000,"#, nil), (#""status":null,"status_code":500,"#, 500),
        (#""status":-429,"#, nil), (#""status":4e99,"#, nil),
    ])
    func anErrorEventHasAStatusCode(member: String, statusCode: Int?) throws {
        let json = #"""
            {"type":"error",\#(member)"error":{"type":"t","code":"c","message":"m","param":"p"},"headers":
            {"X-Codex-Active-Limit":"premium","Retry-After":3,"flag":true,"list":["a","b"],"none":null,"o":{}}}
            """#
        try withEvent(Array(json.utf8)) { event in
            guard case .error(let error) = event.kind else {
                Issue.record("not an error")
                return
            }
            #expect(error.statusCode == statusCode)
            #expect(error.facts.type == "t")
            #expect(error.facts.code == "c")
            #expect(error.facts.message == "m")
            #expect(error.facts.parameter == "p")
            #expect(error.headers.map(\.name) == ["X-Codex-Active-Limit", "Retry-After", "flag", "list"])
            #expect(error.headers.map(\.value) == ["premium", "3", "true", "a"])
            #expect(RetryDelay.milliseconds(headers: error.headers, now: 0) == 3_000)
        }
    }

    @Test(arguments: [
        #"{"type":"error"}"#, #"{"type":"error","error":null}"#, #"{"type":"error","error":[1]}"#,
        #"{"type":"error","headers":[],"status":{},"code":[],"message":{}}"#,
    ])
    func errorEventMayHaveNoFacts(json: String) throws {
        try withEvent(Array(json.utf8)) { event in
            guard case .error(let error) = event.kind else {
                Issue.record("not an error")
                return
            }
            #expect(error.facts == ServerErrorFacts())
            #expect(error.headers.isEmpty)
            #expect(event.kind.isTerminal)
        }
    }

    @Test func anErrorEventOfUnreasonableSizeIsRefused() {
        let frame = #"{"type":"error","message":""}"#
        for (count, error) in [(1_048_575, nil), (1_048_576, nil), (1_048_577, ResponseEventError.tooLarge)] {
            let filler = String(repeating: "x", count: count - frame.utf8.count)
            #expect(decodingError(#"{"type":"error","message":"\#(filler)"}"#) == error)
        }
    }

    @Test func errorNestedDeeperThan256IsRefused() {
        let nested = { String(repeating: #"{"a":["#, count: $0) + String(repeating: "]}", count: $0) }
        #expect(decodingError(#"{"type":"error","error":\#(nested(255))}"#) == nil)
        #expect(decodingError(#"{"type":"error","error":\#(nested(256))}"#) == .tooDeep)
        #expect(ServerErrorFacts(body: #"{"error":{"code":"c","x":\#(nested(255))}}"#.utf8)?.code == "c")
        #expect(ServerErrorFacts(body: #"{"error":{"code":"c","x":\#(nested(5_000))}}"#.utf8) == nil)
    }
}
