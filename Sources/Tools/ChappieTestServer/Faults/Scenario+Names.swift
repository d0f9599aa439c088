// The built-in scenarios by name: Scripts/scenarios.py writes this file from those in `Scenarios`.
//
// Constants without an owner.

extension ChappieTestServer.Scenario {
    private static func builtIn(_ name: String) -> Self {
        guard let scenario = ChappieTestServer.builtInScenario(named: name) else {
            preconditionFailure("there is no built-in scenario \(name)")
        }
        return scenario
    }

    // MARK: Orderly service

    /// Answers every request in full.
    public static var ok: Self { .builtIn("ok") }
    /// Answers two turns on one WebSocket; the second continues the first.
    public static var reuse: Self { .builtIn("reuse") }
    /// Calls a tool, and takes its output on the same WebSocket.
    public static var tool: Self { .builtIn("tool") }
    /// Sends the turn state in `response.metadata` and `codex.response.metadata`.
    public static var metadata: Self { .builtIn("metadata") }
    /// Sends usage limits twice, the second time without a short window.
    public static var limits: Self { .builtIn("limits") }
    /// Sends usage limits that are null.
    public static var limitsNull: Self { .builtIn("limits-null") }
    /// Takes a background request, which has to come over HTTP.
    public static var backgroundWebsocket: Self { .builtIn("background-websocket") }

    // MARK: Cut connections

    /// Ends the first connection after 6 events.
    public static var cut: Self { .builtIn("cut") }
    /// Resets the first connection after 6 events.
    public static var cutReset: Self { .builtIn("cut-reset") }
    /// Ends the first 5 connections after 6 events each.
    public static var cut5: Self { .builtIn("cut-5") }
    /// Ends every WebSocket's connection after 6 events, and none of HTTP's.
    public static var cut6: Self { .builtIn("cut-6") }
    /// Ends the first 2 connections after 6 events; the client's waits double.
    public static var cutBackoff: Self { .builtIn("cut-backoff") }
    /// Ends the first connection between a tool call and the terminal event.
    public static var toolCut: Self { .builtIn("tool-cut") }
    /// Resets the first connection between a tool call and the terminal event.
    public static var toolReset: Self { .builtIn("tool-reset") }
    /// Ends the first WebSocket's connection after the terminal event.
    public static var idleCut: Self { .builtIn("idle-cut") }
    /// Ends the first WebSocket's connection at its second request.
    public static var reusedCut: Self { .builtIn("reused-cut") }
    /// Ends the first 4 connections before any answer.
    public static var offline: Self { .builtIn("offline") }
    /// Refuses WebSockets, and ends the first POST after 6 events.
    public static var httpCut: Self { .builtIn("http-cut") }
    /// Ends the connection of every POST after 6 events.
    public static var httpCut6: Self { .builtIn("http-cut-6") }
    /// Resets the connection of the first POST in mid-text.
    public static var httpReset: Self { .builtIn("http-reset") }
    /// Ends the first connection in mid-text; the client may not recover.
    public static var recoveryNever: Self { .builtIn("recovery-never") }
    /// Ends the first connection in mid-text; the client must not send again.
    public static var recoveryResumeOnly: Self { .builtIn("recovery-resume-only") }

    // MARK: Replayed output

    /// Resets the first connection, and repeats the text in other pieces.
    public static var replaySame: Self { .builtIn("replay-same") }
    /// Ends the first connection; retries have another text from the second character on.
    public static var replayDiff: Self { .builtIn("replay-diff") }
    /// Ends the first connection; retries end after 3 characters.
    public static var replayShort: Self { .builtIn("replay-short") }
    /// Ends every WebSocket's connection; HTTP repeats the text.
    public static var replayHttp: Self { .builtIn("replay-http") }
    /// Ends every WebSocket's connection; HTTP has another text.
    public static var replayHttpDiff: Self { .builtIn("replay-http-diff") }
    /// Closes every WebSocket before the terminal event; retries have another text.
    public static var noTerminalDiff: Self { .builtIn("no-terminal-diff") }
    /// Ends the first event stream in order before the terminal event.
    public static var httpNoTerminal: Self { .builtIn("http-no-terminal") }
    /// Ends every event stream in order before the terminal event; retries have another text.
    public static var httpNoTerminalDiff: Self { .builtIn("http-no-terminal-diff") }
    /// Ends every event stream in order before the terminal event; the client may not recover.
    public static var httpNoTerminalNever: Self { .builtIn("http-no-terminal-never") }

    // MARK: Background responses

    /// Ends the stream after 30 events, and resumes it in order.
    public static var resumeCut: Self { .builtIn("resume-cut") }
    /// Ends the stream after its first event, and resumes it in order.
    public static var resumeEarly: Self { .builtIn("resume-early") }
    /// Ends the stream after 30 events, and the resumed one after 10.
    public static var resumeCutTwice: Self { .builtIn("resume-cut-twice") }
    /// Ends the stream while the rest of its text is still being made.
    public static var resumeGenerating: Self { .builtIn("resume-generating") }
    /// Falls silent after 30 events, and resumes in order.
    public static var resumeHang: Self { .builtIn("resume-hang") }
    /// Ends the stream; the client may resume, and never send again.
    public static var resumeOnly: Self { .builtIn("resume-only") }
    /// Ends the stream; the client may not recover.
    public static var resumeNever: Self { .builtIn("resume-never") }
    /// Answers the first request to resume with 500.
    public static var resume500: Self { .builtIn("resume-500") }
    /// Refuses to resume a response that is too old (400).
    public static var resumeExpired: Self { .builtIn("resume-expired") }
    /// Refuses to resume a response that it has removed (404).
    public static var resumeForgotten: Self { .builtIn("resume-forgotten") }
    /// Resumes 5 events too late, the first time.
    public static var resumeGap: Self { .builtIn("resume-gap") }
    /// Resumes 5 events too late, every time.
    public static var resumeGapAlways: Self { .builtIn("resume-gap-always") }
    /// Replaces an event of the first resumed stream by one without a number.
    public static var resumeGapUnnumbered: Self { .builtIn("resume-gap-unnumbered") }
    /// Leaves an event out of the first resumed stream.
    public static var resumeDropped: Self { .builtIn("resume-dropped") }
    /// Exchanges two events of the first resumed stream.
    public static var resumeReordered: Self { .builtIn("resume-reordered") }
    /// Sends an event of each resumed stream twice.
    public static var resumeRepeated: Self { .builtIn("resume-repeated") }
    /// Resumes 5 events too early.
    public static var resumeDuplicate: Self { .builtIn("resume-duplicate") }
    /// Resumes with the first event of the response.
    public static var resumeOtherPlace: Self { .builtIn("resume-other-place") }
    /// Resumes one event too early, with another text in that event.
    public static var resumeContradiction: Self { .builtIn("resume-contradiction") }
    /// Begins the first resumed stream with another response.
    public static var resumeOtherResponse: Self { .builtIn("resume-other-response") }
    /// Numbers the events of each resumed stream from 0 again.
    public static var resumeRenumbered: Self { .builtIn("resume-renumbered") }
    /// Resumes with 3 event numbers that are not integers.
    public static var resumeNotInteger: Self { .builtIn("resume-not-integer") }

    // MARK: Close frames

    /// Closes the first WebSocket with 1000 (normal) after 6 events.
    public static var close1000: Self { .builtIn("close-1000") }
    /// Closes the first WebSocket with 1001 (going away) after 6 events.
    public static var close1001: Self { .builtIn("close-1001") }
    /// Closes every WebSocket with 1002 (protocol error) before any event.
    public static var close1002: Self { .builtIn("close-1002") }
    /// Closes every WebSocket with 1003 (unsupported data) before any event.
    public static var close1003: Self { .builtIn("close-1003") }
    /// Closes the first WebSocket without a code after 6 events.
    public static var close1005: Self { .builtIn("close-1005") }
    /// Closes every WebSocket with 1007 (invalid data) before any event.
    public static var close1007: Self { .builtIn("close-1007") }
    /// Closes the first WebSocket with 1008 (policy) after 6 events.
    public static var close1008: Self { .builtIn("close-1008") }
    /// Closes every WebSocket with 1008 (policy) right after the upgrade.
    public static var close1008Early: Self { .builtIn("close-1008-early") }
    /// Closes the first WebSocket with 1009 (too big) before any event.
    public static var close1009: Self { .builtIn("close-1009") }
    /// Closes the first WebSocket with 1011 (internal error) after 6 events.
    public static var close1011: Self { .builtIn("close-1011") }
    /// Closes the first WebSocket with 1012 (restart) after 6 events.
    public static var close1012: Self { .builtIn("close-1012") }
    /// Closes the first WebSocket with 1013 (try again) after 6 events.
    public static var close1013: Self { .builtIn("close-1013") }
    /// Closes the first WebSocket with 4000 (private use) after 6 events.
    public static var close4000: Self { .builtIn("close-4000") }
    /// Closes every WebSocket with 1000 once a response is complete.
    public static var idleClose: Self { .builtIn("idle-close") }
    /// Closes every WebSocket with 1001 once a response is complete.
    public static var idleClose1001: Self { .builtIn("idle-close-1001") }
    /// Closes the first WebSocket with 1000 before the terminal event.
    public static var noTerminal: Self { .builtIn("no-terminal") }

    // MARK: Handshakes

    /// Answers every upgrade with 200 in place of 101.
    public static var hs200: Self { .builtIn("hs-200") }
    /// Answers every upgrade with 400 Bad Request.
    public static var hs400: Self { .builtIn("hs-400") }
    /// Answers every upgrade with 403 Forbidden.
    public static var hs403: Self { .builtIn("hs-403") }
    /// Answers every upgrade with 404 Not Found.
    public static var hs404: Self { .builtIn("hs-404") }
    /// Answers every upgrade with 405 Method Not Allowed.
    public static var hs405: Self { .builtIn("hs-405") }
    /// Answers every upgrade with 426 Upgrade Required.
    public static var hs426: Self { .builtIn("hs-426") }
    /// Answers the first upgrade with 429 and Retry-After: 2.
    public static var hs429: Self { .builtIn("hs-429") }
    /// Answers every upgrade with 500 Internal Server Error.
    public static var hs500: Self { .builtIn("hs-500") }
    /// Answers every upgrade with 501 Not Implemented.
    public static var hs501: Self { .builtIn("hs-501") }
    /// Answers every upgrade with 502 Bad Gateway.
    public static var hs502: Self { .builtIn("hs-502") }
    /// Answers every upgrade with 503 Service Unavailable.
    public static var hs503: Self { .builtIn("hs-503") }
    /// Answers every request with 503, because the model is overloaded.
    public static var hs503Overloaded: Self { .builtIn("hs-503-overloaded") }
    /// Redirects every upgrade to another origin.
    public static var hsRedirect: Self { .builtIn("hs-redirect") }
    /// Rejects the client's first token with 401, and accepts the second.
    public static var hs401: Self { .builtIn("hs-401") }
    /// Rejects both tokens of the client with 401.
    public static var hs401Twice: Self { .builtIn("hs-401-twice") }
    /// Rejects the only token of the client with 401.
    public static var hs401Same: Self { .builtIn("hs-401-same") }
    /// Answers every upgrade with a wrong Sec-WebSocket-Accept.
    public static var hsBadaccept: Self { .builtIn("hs-badaccept") }
    /// Accepts every upgrade with an extension that was not offered.
    public static var hsExt: Self { .builtIn("hs-ext") }
    /// Accepts every upgrade with a subprotocol that was not offered.
    public static var hsSubprotocol: Self { .builtIn("hs-subprotocol") }
    /// Answers every upgrade with more than 256 KiB of fields.
    public static var hsLargeHeader: Self { .builtIn("hs-large-header") }
    /// Answers every upgrade with a text that is not HTTP.
    public static var hsNotHttp: Self { .builtIn("hs-not-http") }
    /// Ends the connection of every upgrade without an answer.
    public static var hsCut: Self { .builtIn("hs-cut") }
    /// Leaves every upgrade without an answer, and its connection open.
    public static var hsHang: Self { .builtIn("hs-hang") }
    /// Leaves the first upgrade without an answer; the client uses HTTP for that turn alone.
    public static var hsHangHedge: Self { .builtIn("hs-hang-hedge") }
    /// Answers every upgrade at 10 bytes a second.
    public static var hsSlow: Self { .builtIn("hs-slow") }
    /// Answers the first upgrade at 10 bytes a second; the client uses HTTP for that turn alone.
    public static var hsSlowHedge: Self { .builtIn("hs-slow-hedge") }
    /// Serves over TLS with a valid certificate.
    public static var hsTlsOk: Self { .builtIn("hs-tls-ok") }
    /// Serves over TLS with a certificate that has expired.
    public static var hsTlsExpired: Self { .builtIn("hs-tls-expired") }
    /// Ends the first 2 connections in their TLS handshake.
    public static var hsTls: Self { .builtIn("hs-tls") }

    // MARK: Answers over HTTP

    /// Answers every POST with 400 Bad Request.
    public static var http400: Self { .builtIn("http-400") }
    /// Rejects the client's first token with 401, and accepts the second.
    public static var http401: Self { .builtIn("http-401") }
    /// Answers every POST with 403 Forbidden.
    public static var http403: Self { .builtIn("http-403") }
    /// Answers every POST with 404 Not Found.
    public static var http404: Self { .builtIn("http-404") }
    /// Refuses WebSockets, and answers the first POST with 408.
    public static var http408: Self { .builtIn("http-408") }
    /// Refuses WebSockets, and answers the first POST with 409.
    public static var http409: Self { .builtIn("http-409") }
    /// Answers every POST with 413 Content Too Large.
    public static var http413: Self { .builtIn("http-413") }
    /// Answers every POST with 422 Unprocessable Content.
    public static var http422: Self { .builtIn("http-422") }
    /// Refuses WebSockets, and answers the first POST with 429 and Retry-After: 1.
    public static var http429: Self { .builtIn("http-429") }
    /// Answers every POST with 429, because the plan is used up.
    public static var http429usage: Self { .builtIn("http-429usage") }
    /// Refuses WebSockets, and answers the first POST with 500.
    public static var http500: Self { .builtIn("http-500") }
    /// Refuses WebSockets, and answers the first POST with 502.
    public static var http502: Self { .builtIn("http-502") }
    /// Refuses WebSockets, and answers the first POST with 503.
    public static var http503: Self { .builtIn("http-503") }
    /// Answers every POST with 503, because the model is overloaded.
    public static var http503Overloaded: Self { .builtIn("http-503-overloaded") }
    /// Refuses WebSockets, and answers the first POST with 529.
    public static var http529: Self { .builtIn("http-529") }
    /// Refuses WebSockets, and answers every POST with a page of HTML.
    public static var httpHtml: Self { .builtIn("http-html") }
    /// Refuses WebSockets, and answers every POST with JSON that claims to be an event stream.
    public static var httpJson: Self { .builtIn("http-json") }
    /// Refuses WebSockets, and answers every POST with 200 and an error in JSON.
    public static var httpJsonType: Self { .builtIn("http-json-type") }
    /// Answers every POST with an event stream that has no event.
    public static var httpEmpty: Self { .builtIn("http-empty") }
    /// Writes another answer, a 502, in place of the rest of the first one, outside of its chunks.
    public static var httpHeadInBody: Self { .builtIn("http-head-in-body") }
    /// Writes another answer, a 502, in place of the rest of the first one, as a chunk.
    public static var httpHeadInChunk: Self { .builtIn("http-head-in-chunk") }

    // MARK: Error events

    /// Answers every request with an error event of status 400.
    public static var err400: Self { .builtIn("err-400") }
    /// Answers the first request with an error event of status 401.
    public static var err401: Self { .builtIn("err-401") }
    /// Answers every request with an error event of status 402.
    public static var err402: Self { .builtIn("err-402") }
    /// Answers every request with an error event of status 403.
    public static var err403: Self { .builtIn("err-403") }
    /// Answers every request with an error event of status 404.
    public static var err404: Self { .builtIn("err-404") }
    /// Answers the first request with an error event of status 408.
    public static var err408: Self { .builtIn("err-408") }
    /// Answers the first request with an error event of status 409.
    public static var err409: Self { .builtIn("err-409") }
    /// Answers every request with an error event of status 413.
    public static var err413: Self { .builtIn("err-413") }
    /// Answers every request with an error event of status 418.
    public static var err418: Self { .builtIn("err-418") }
    /// Answers every request with an error event of status 422.
    public static var err422: Self { .builtIn("err-422") }
    /// Answers the first request with status 429, to be retried after 1 s.
    public static var err429: Self { .builtIn("err429") }
    /// Answers every request with an error event of status 429.
    public static var err429Spent: Self { .builtIn("err429-spent") }
    /// Answers the first request with an error event of status 500.
    public static var err500: Self { .builtIn("err-500") }
    /// Answers every request with an error event of status 500.
    public static var err500Spent: Self { .builtIn("err-500-spent") }
    /// Answers the first request with an error event of status 502.
    public static var err502: Self { .builtIn("err-502") }
    /// Answers the first request with an error event of status 503.
    public static var err503: Self { .builtIn("err-503") }
    /// Answers every request with status 503 and `server_is_overloaded`.
    public static var err503Overloaded: Self { .builtIn("err-503-overloaded") }
    /// Answers the first request with an error event of status 529.
    public static var err529: Self { .builtIn("err-529") }
    /// Answers every request with status 429 and `insufficient_quota`.
    public static var errInsufficientQuota: Self { .builtIn("err-insufficient-quota") }
    /// Answers every request with an error event without a status.
    public static var errNostatus: Self { .builtIn("err-nostatus") }
    /// Answers the first request with `previous_response_not_found`.
    public static var prevNf: Self { .builtIn("prev-nf") }
    /// Answers every request with `usage_limit_reached`.
    public static var usage: Self { .builtIn("usage") }
    /// Answers every request with `usage_limit_reached`; the status is in `status_code`.
    public static var usageStatusCode: Self { .builtIn("usage-status-code") }
    /// Ends every event stream with an error event whose code is at top level.
    public static var sseError: Self { .builtIn("sse-error") }
    /// Ends every event stream with an error event whose code is in `error`.
    public static var sseErrorNested: Self { .builtIn("sse-error-nested") }
    /// Ends every event stream with an error event of status 400.
    public static var sseErrorNestedStatus: Self { .builtIn("sse-error-nested-status") }
    /// Ends every WebSocket response with an error event whose code is at top level.
    public static var sseErrorWebsocket: Self { .builtIn("sse-error-websocket") }
    /// Ends every response with an error object that has no type.
    public static var oddErrorNoType: Self { .builtIn("odd-error-no-type") }

    // MARK: Failed responses

    /// Fails the first response in mid-text with `server_error`.
    public static var failed: Self { .builtIn("failed") }
    /// Fails the first response in mid-text with an unknown code.
    public static var failedUnknown: Self { .builtIn("failed-unknown") }
    /// Fails every response with `bio_policy`.
    public static var failedBioPolicy: Self { .builtIn("failed-bio-policy") }
    /// Fails every response with `context_length_exceeded`.
    public static var failedContextLengthExceeded: Self { .builtIn("failed-context-length-exceeded") }
    /// Fails every response with `cyber_policy`.
    public static var failedCyberPolicy: Self { .builtIn("failed-cyber-policy") }
    /// Fails every response with `insufficient_quota`.
    public static var failedInsufficientQuota: Self { .builtIn("failed-insufficient-quota") }
    /// Fails every response with `invalid_prompt`.
    public static var failedInvalidPrompt: Self { .builtIn("failed-invalid-prompt") }
    /// Fails the first response with a rate limit, to be retried after 2.5 s.
    public static var failedRl: Self { .builtIn("failed-rl") }
    /// Fails every response with `server_is_overloaded`.
    public static var failedServerIsOverloaded: Self { .builtIn("failed-server-is-overloaded") }
    /// Fails the first response with `slow_down`.
    public static var failedSlowDown: Self { .builtIn("failed-slow-down") }
    /// Fails every response with `usage_not_included`.
    public static var failedUsageNotIncluded: Self { .builtIn("failed-usage-not-included") }
    /// Ends every response in mid-text with `max_output_tokens`.
    public static var incomplete: Self { .builtIn("incomplete") }

    // MARK: Silence and signs of life

    /// Falls silent after 6 events of the first attempt, but answers pings.
    public static var hang: Self { .builtIn("hang") }
    /// Sends no event in the first attempt.
    public static var hangFirst: Self { .builtIn("hang-first") }
    /// Falls silent in mid-text of every response.
    public static var hangTotal: Self { .builtIn("hang-total") }
    /// Refuses WebSockets, and falls silent after 6 events of the first POST.
    public static var httpHang: Self { .builtIn("http-hang") }
    /// Answers the first POST with a header section and no event.
    public static var httpHangFirst: Self { .builtIn("http-hang-first") }
    /// Leaves the first POST without an answer, and its connection open.
    public static var httpSilent: Self { .builtIn("http-silent") }
    /// Stops reading and writing after the first upgrade.
    public static var blackhole: Self { .builtIn("blackhole") }
    /// Stops reading and writing in mid-text of the first attempt.
    public static var blackholeText: Self { .builtIn("blackhole-text") }
    /// Sends only keepalive events after 2 events of the first attempt.
    public static var parked: Self { .builtIn("parked") }
    /// Sends only keepalive events for 1.5 s in mid-text.
    public static var stalled: Self { .builtIn("stalled") }
    /// Sends only keepalive events for 2 s.
    public static var keepalive: Self { .builtIn("keepalive") }
    /// Sends a keepalive event before every event.
    public static var keepaliveEvents: Self { .builtIn("keepalive-events") }
    /// Refuses WebSockets; sends only keepalive events for 2 s.
    public static var httpKeepalive: Self { .builtIn("http-keepalive") }
    /// Refuses WebSockets; sends only comments for 2 s.
    public static var httpComments: Self { .builtIn("http-comments") }
    /// Sends only pings for 2 s.
    public static var silentPing: Self { .builtIn("silent-ping") }
    /// Sends a ping before every event.
    public static var ping: Self { .builtIn("ping") }

    // MARK: Framing and compression

    /// Ends lines with LF, and writes 3 bytes at a time.
    public static var sseLf: Self { .builtIn("sse-lf") }
    /// Ends lines with CR, and writes byte by byte.
    public static var sseCr: Self { .builtIn("sse-cr") }
    /// Ends lines with CR LF, and writes byte by byte.
    public static var sseCrlf: Self { .builtIn("sse-crlf") }
    /// Writes 7 events at a time.
    public static var sseBatch: Self { .builtIn("sse-batch") }
    /// Sends `[DONE]` before the first event.
    public static var sseDone: Self { .builtIn("sse-done") }
    /// Sends `[DONE]` in place of the first terminal event.
    public static var sseDoneOnly: Self { .builtIn("sse-done-only") }
    /// Compresses event streams with gzip.
    public static var sseGzip: Self { .builtIn("sse-gzip") }
    /// Compresses event streams with zlib.
    public static var sseDeflate: Self { .builtIn("sse-deflate") }
    /// Refuses WebSockets, and breaks off the first compressed stream.
    public static var httpTruncated: Self { .builtIn("http-truncated") }
    /// Accepts the offer of permessage-deflate.
    public static var deflate: Self { .builtIn("deflate") }
    /// Ignores the offer of permessage-deflate.
    public static var nodeflate: Self { .builtIn("nodeflate") }
    /// Ends the first compressed WebSocket's connection in mid-text.
    public static var deflateCut: Self { .builtIn("deflate-cut") }
    /// Splits messages into frames of 7 bytes, with pings between them.
    public static var frag: Self { .builtIn("frag") }
    /// Sends the first event of the first attempt as a binary message.
    public static var binary: Self { .builtIn("binary") }
    /// Sends the first event of every WebSocket as a binary message.
    public static var binaryAlways: Self { .builtIn("binary-always") }
    /// Sends a message that is not JSON between events.
    public static var notJson: Self { .builtIn("not-json") }
    /// Sends a message that is not JSON between the first attempt's events.
    public static var notJsonOnce: Self { .builtIn("not-json-once") }

    // MARK: Sizes and ages

    /// Takes a request of 17 MB, which is too large for a WebSocket.
    public static var big: Self { .builtIn("big") }
    /// Closes WebSockets with 1009 for a request of more than 64 KiB.
    public static var bigRefused: Self { .builtIn("big-refused") }
    /// Sends a text delta of 2 MiB.
    public static var largeEvent: Self { .builtIn("large-event") }
    /// Answers the first request with `websocket_connection_limit_reached`.
    public static var limit: Self { .builtIn("limit") }
    /// Refuses the second request, because the WebSocket is too old.
    public static var limitAge: Self { .builtIn("limit-age") }
    /// Takes longer for the first response than the client keeps a WebSocket.
    public static var rotate: Self { .builtIn("rotate") }

    // MARK: Closing events

    /// Sends the text only in the last event.
    public static var closingAll: Self { .builtIn("closing-all") }
    /// Sends a tool call only in the last event.
    public static var closingCall: Self { .builtIn("closing-call") }
    /// Sends the last deltas of the text behind the event that closes it.
    public static var closingEarly: Self { .builtIn("closing-early") }
    /// Sends the text only in the finished item and the last event, and skips the event numbers of its deltas.
    public static var closingItem: Self { .builtIn("closing-item") }
    /// Sends the end of the text only in the closing events.
    public static var closingRest: Self { .builtIn("closing-rest") }
    /// Sends a text at the end that its deltas contradict.
    public static var closingContradiction: Self { .builtIn("closing-contradiction") }

    // MARK: Odd events

    /// Sends a delta of an item that is done.
    public static var oddDeltaAfterDone: Self { .builtIn("odd-delta-after-done") }
    /// Sends a delta of an item that was never added.
    public static var oddDeltaNeverAdded: Self { .builtIn("odd-delta-never-added") }
    /// Sends a tool call's arguments twice in a row, which is not JSON.
    public static var oddDoubledArguments: Self { .builtIn("odd-doubled-arguments") }
    /// Sends a delta whose output index is negative.
    public static var oddIndexNegative: Self { .builtIn("odd-index-negative") }
    /// Sends a delta whose output index is 2^63.
    public static var oddIndexOverflow: Self { .builtIn("odd-index-overflow") }
    /// Changes the identifier of an item from event to event.
    public static var oddItemId: Self { .builtIn("odd-item-id") }
    /// Sends 5 events twice, with their event numbers.
    public static var oddRepeatedEvents: Self { .builtIn("odd-repeated-events") }
    /// Sends a finished message again behind two tool calls, at the index of the last call.
    public static var oddRepeatedItem: Self { .builtIn("odd-repeated-item") }
    /// Sends an object without a type between events.
    public static var oddNoType: Self { .builtIn("odd-no-type") }
    /// Sends an event of an unknown type between events.
    public static var oddUnknownEvent: Self { .builtIn("odd-unknown-event") }
    /// Gives two events the same number.
    public static var oddNumbersDuplicate: Self { .builtIn("odd-numbers-duplicate") }
    /// Skips event numbers.
    public static var oddNumbersMissing: Self { .builtIn("odd-numbers-missing") }
    /// Gives 3 events numbers that are negative or not integers.
    public static var oddNumbersNotInteger: Self { .builtIn("odd-numbers-not-integer") }
    /// Exchanges the numbers of two events.
    public static var oddNumbersReordered: Self { .builtIn("odd-numbers-reordered") }

    // MARK: Mixed responses

    /// Begins the second response with a delta of the first.
    public static var oddLateDelta: Self { .builtIn("odd-late-delta") }
    /// Begins the second response with a failure of the first.
    public static var oddLateFailure: Self { .builtIn("odd-late-failure") }
    /// Sends a delta of the first response in the middle of the second.
    public static var oddLateItem: Self { .builtIn("odd-late-item") }
    /// Begins the second response with the terminal event of the first.
    public static var oddLateTerminal: Self { .builtIn("odd-late-terminal") }
    /// Announces another response in mid-text.
    public static var oddForeignCreated: Self { .builtIn("odd-foreign-created") }
    /// Sends the failure of another response in mid-text.
    public static var oddForeignFailure: Self { .builtIn("odd-foreign-failure") }
    /// Sends the last events of another response, with its text, between those of an item.
    public static var oddForeignTail: Self { .builtIn("odd-foreign-tail") }
    /// Sends the terminal event of another response in mid-text.
    public static var oddForeignTerminal: Self { .builtIn("odd-foreign-terminal") }
    /// Sends another response between events, marked as another stream.
    public static var oddInterleaved: Self { .builtIn("odd-interleaved") }
    /// Sends a helper agent's text between pieces of the main agent's.
    public static var oddOtherAgent: Self { .builtIn("odd-other-agent") }
    /// Ends the first response twice.
    public static var oddTwoTerminals: Self { .builtIn("odd-two-terminals") }
    /// Fails the first response after it is complete.
    public static var oddFailedAfterCompleted: Self { .builtIn("odd-failed-after-completed") }
}
