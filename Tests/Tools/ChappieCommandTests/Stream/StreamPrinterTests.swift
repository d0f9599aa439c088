// The output of `chappie stream`, by event.
import Foundation
import Testing
import TransportSurface

@testable import ChappieCommand
@testable import ChappieTransport

private let snapshot = ChappieUsageLimitSnapshot(
    primary: .init(usedPercent: 42, windowMinutes: 300, resetsAt: Date(timeIntervalSince1970: 1_795_255_200)),
    secondary: .init(usedPercent: 7.5, windowMinutes: nil, resetsAt: nil), planType: "plus")

private func failure(
    _ error: any Error, replaySafety: ChappieReplaySafety = .notSent, proof: StreamFailure.Proof = .key
) -> StreamFailure {
    var report = ChappieStreamReport()
    report.replaySafety = replaySafety
    return StreamFailure(error, report: report, proof: proof)
}

private let connectionLost: ChappieClientError = {
    var details = ChappieTransportFailure.Details()
    details.requestID = "req_1"
    return .transport(
        ChappieTransportFailure(
            code: .connectionLost, phase: .stream, transport: .httpSSE,
            progress: (attempts: 3, replaySafety: .outputDelivered), details: details))
}()

/// The three events of a tool, as `request`, `approval` and results.
private let toolEvents: [ChappieStreamEvent] = [
    .toolCallRequested(.init(callID: "call_1", name: "t", arguments: #"{"city":"Oslo"}"#, policy: .ask)),
    .approvalRequested(.init(callID: "call_1", name: "t", arguments: #"{"city":"Oslo"}"#)),
    .toolCallCompleted(
        .init(callID: "call_1", name: "t", status: .completed, output: "a\n", duration: .milliseconds(12))),
    .toolCallCompleted(.init(callID: "call_1", name: "t", status: .cancelled, output: "", duration: .zero)),
]

@Suite struct StreamJSONPrinterTests {
    @Test func toolEventsArePrintedAsLinesOfJSON() {
        var printer = StreamJSONPrinter()
        let lines = [
            #"{"type":"toolCallRequested","callID":"call_1","name":"t","arguments":"{\"city\":\"Oslo\"}","policy":"ask"}"#,
            #"{"type":"approvalRequested","callID":"call_1","name":"t"}"#,
            #"{"type":"toolCallCompleted","callID":"call_1","name":"t","status":"completed","output":"a\n","#
                + #""duration":0.012}"#,
            #"{"type":"toolCallCompleted","callID":"call_1","name":"t","status":"cancelled","output":"","duration":0}"#,
        ]
        #expect(toolEvents.map { printer.printed($0) } == lines.map { PrintedText(output: $0 + "\n") })
    }

    @Test(
        arguments: [
            (.textDelta("a\n\"b\""), #"{"type":"textDelta","text":"a\n\"b\""}"#),
            (.reasoningDelta("r"), #"{"type":"reasoningDelta","text":"r"}"#),
            (.refusalDelta("no"), #"{"type":"refusalDelta","text":"no"}"#),
            (.restarted(deliveredText: "a"), #"{"type":"restarted","deliveredText":"a"}"#),
            (
                .usageLimits(snapshot),
                #"{"type":"usageLimits","planType":"plus","primary":{"usedPercent":42,"windowMinutes":300,"#
                    + #""resetsAt":"2026-11-21T10:00:00Z"},"secondary":{"usedPercent":7.5}}"#
            ),
            (
                .usageLimits(.init(primary: nil, secondary: nil, planType: nil)), #"{"type":"usageLimits"}"#
            ),
            (
                .raw(type: "response.created", payload: "{}"),
                #"{"type":"raw","eventType":"response.created","payload":"{}"}"#
            ),
            (
                .diagnostic(.init(kind: .reconnecting, attempt: 1, limit: 5, reason: "ws.close.1011")),
                #"{"type":"diagnostic","kind":"reconnecting","attempt":1,"limit":5,"reason":"ws.close.1011"}"#
            ),
            (
                .diagnostic(.init(kind: .connected, transport: .webSocket)),
                #"{"type":"diagnostic","kind":"connected","transport":"webSocket"}"#
            ),
            (
                .diagnostic(.init(kind: .replayVerified, byteCount: 120)),
                #"{"type":"diagnostic","kind":"replayVerified","bytes":120}"#
            ),
            (.completed, #"{"type":"completed"}"#),
        ] as [(ChappieStreamEvent, String)]
    ) func everyEventIsALine(event: ChappieStreamEvent, line: String) {
        var printer = StreamJSONPrinter()
        #expect(printer.printed(event) == PrintedText(output: line + "\n"))
    }

    @Test func aFailureIsTheLastLine() {
        var printer = StreamJSONPrinter()
        #expect(
            printer.printed(failure(connectionLost, replaySafety: .outputDelivered)).output
                == #"{"type":"error","tag":"connection.lost","category":"network","retryable":true,"#
                + #""safeDescription":"The connection broke (while reading the response, HTTP, 3 attempts). "#
                + #"Try again in a moment.","replaySafety":"outputDelivered","attempts":3,"requestID":"req_1"}"# + "\n")
    }

    @Test func aDivergenceCarriesTheDeliveredText() {
        var printer = StreamJSONPrinter()
        let line = printer.printed(
            failure(ChappieClientError.streamingTransportReplayDiverged("so far"), replaySafety: .outputDelivered)
        ).output
        #expect(line.contains(#""tag":"replay.diverged""#))
        #expect(line.hasSuffix(#""replaySafety":"outputDelivered","attempts":0,"deliveredText":"so far"}"# + "\n"))
    }

    @Test func serverMessageIsASeparateMember() {
        var printer = StreamJSONPrinter()
        let line = printer.printed(failure(ChappieClientError.httpError(400, #"{"detail":"Not \"y\"."}"#))).output
        #expect(line.contains(#","serverMessage":"Not \"y\".","replaySafety":"#), "\(line)")
        #expect(!printer.printed(failure(ChappieClientError.httpError(400, ""))).output.contains("serverMessage"))
    }

    @Test func detailOfAFailureStandsBehindItsCategory() {
        var details = ChappieTransportFailure.Details()
        details.detail = "lane is empty"
        let error = ChappieClientError.transport(
            ChappieTransportFailure(
                code: .invalidRequest, phase: .send, transport: .httpSSE,
                progress: (attempts: 0, replaySafety: .notSent), details: details))
        var printer = StreamJSONPrinter()
        let line = printer.printed(failure(error)).output
        #expect(line.contains(#""tag":"request.invalid","category":"validation","detail":"lane is empty","#), "\(line)")
    }

    @Test func divergenceAfterAnOrderlyEndNamesTheRecoveryOption() {
        var report = ChappieStreamReport()
        report.endedWithoutTerminalEvent = true
        let failure = StreamFailure(
            ChappieClientError.streamingTransportReplayDiverged("so far"), report: report, proof: .none)
        #expect(failure.safeDescription.hasPrefix("The answer ended behind a whole event, the server did not say"))
        #expect(failure.safeDescription.contains("--recovery never"))
        #expect(failure.tag == "replay.diverged" && failure.deliveredText == "so far" && failure.status == .wrongData)
    }

    /// One attempt is the result of the option, which is then not advised again.
    @Test(arguments: [
        (1, ""), (6, " If this server ends all its answers so, give --recovery never: it is then asked once."),
    ])
    func orderlyEndNamesTheRecoveryOptionUnlessItWasGiven(attempts: Int, advice: String) {
        var details = ChappieTransportFailure.Details()
        details.detail = "ended-in-order"
        let error = ChappieClientError.transport(
            ChappieTransportFailure(
                code: .endedEarly, phase: .stream, transport: .httpSSE,
                progress: (attempts: attempts, replaySafety: .outputDelivered), details: details))
        #expect(
            failure(error).safeDescription == (error.failureReason ?? "")
                + " The delivered text may be all of it, or cut: on the way, or at the limit of output tokens." + advice
        )
    }

    @Test func anInterruptionHasNoCategory() {
        var printer = StreamJSONPrinter()
        let line = printer.printed(failure(CancellationError())).output
        #expect(line.hasPrefix(#"{"type":"error","tag":"cancelled","retryable":true,"#))
        #expect(failure(CancellationError()).status == .interrupted)
    }
}

@Suite struct StreamErrorLineTests {
    private static func line(_ error: any Error, _ words: String...) -> String? {
        StreamJSONPrinter.line(of: error, words: words)
    }

    @Test func errorBeforeTheStreamIsTheOnlyLine() {
        let rest = #""replaySafety":"notSent","attempts":0}"# + "\n"
        #expect(
            Self.line(UsageError("unknown option --x"), "--json", "--x")
                == #"{"type":"error","tag":"usage","category":"validation","retryable":false,"#
                + #""safeDescription":"unknown option --x","# + rest)
        for (error, words) in [
            (NoServerError(), NoServerError().message),
            (SignedOutError(account: "a"), SignedOutError(account: "a").message),
        ] as [(any Error, String)] {
            #expect(
                Self.line(error, "hi", "--json")
                    == #"{"type":"error","tag":"auth.missing-credential","category":"auth","retryable":false,"#
                    + #""safeDescription":"\#(words)","# + rest)
        }
        #expect(Self.line(DescriptorError.failed(code: 5), "--json")?.contains(#""tag":"input-output""#) == true)
    }

    @Test func errorHasNoLineUnlessItIsAskedFor() {
        #expect(Self.line(NoServerError(), "hi") == nil)
        #expect(Self.line(UsageError("x"), "--", "--json") == nil)
        #expect(Self.line(UsageError("x"), "--model", "--json") != nil)
    }

    @Test(
        arguments: [
            (UsageError("x"), ExitCode.usage), (NoServerError(), .credentials), (SignedOutError(), .credentials),
            (DescriptorError.failed(code: 5), .unavailable),
        ] as [(any Error, ExitCode)])
    func exitCodeFollowsFromTheError(_ error: any Error, status: ExitCode) {
        #expect(failure(error).status == status)
    }
}

@Suite struct StreamFailureTests {
    @Test func replaySafetyFollowsWhatHappened() {
        var attempted = ChappieStreamReport()
        attempted.attempts = [.init(number: 1, transport: .webSocket, requestID: "req_9")]
        let error = ChappieClientError.httpError(500, "")
        for safety in ChappieReplaySafety.allCases {
            attempted.replaySafety = safety
            #expect(StreamFailure(error, report: attempted, proof: .none).replaySafety == safety)
        }
        #expect(StreamFailure(error, report: attempted, proof: .none).requestID == "req_9")
    }

    @Test func closedOutputIsNotReportedAsADefect() {
        let late = failure(DescriptorError.late)
        #expect(late.status == .timedOut && late.tag == "timeout.output")
        let interrupted = failure(DescriptorError.interrupted)
        #expect(interrupted.status == .interrupted && interrupted.tag == "cancelled")
    }

    @Test func anUnknownErrorIsADefect() {
        struct Unknown: Error {}
        #expect(failure(Unknown()).status == .defect)
        #expect(failure(Unknown()).tag == "internal")
    }
}

@Suite struct StreamTextPrinterTests {
    private func printer(output: Bool, errorOutput: Bool) -> StreamTextPrinter {
        StreamTextPrinter(
            terminals: .init(output: output, errorOutput: errorOutput), style: TerminalStyle(isColored: false))
    }

    @Test func toolEventsArePrintedOnStandardError() {
        var printer = self.printer(output: false, errorOutput: false)
        let lines = [
            #"tool t {"city":"Oslo"}"#, "tool t waits for an answer", #"tool t completed a\u{A}"#, "tool t cancelled",
        ]
        #expect(toolEvents.map { printer.printed($0) } == lines.map { PrintedText(errorOutput: $0 + "\n") })
    }

    @Test func pipeReceivesOnlyTheTextByteForByte() {
        var printer = self.printer(output: false, errorOutput: false)
        #expect(printer.printed(.reasoningDelta("hm")) == PrintedText())
        #expect(printer.printed(.textDelta("a\u{1B}[1m")) == PrintedText(output: "a\u{1B}[1m"))
        #expect(printer.printed(.diagnostic(.init(kind: .connected, transport: .webSocket))) == PrintedText())
        #expect(printer.printed(.usageLimits(snapshot)) == PrintedText())
        #expect(printer.printed(.completed) == PrintedText(output: "\n"))
    }

    @Test(arguments: [[], ["a\n"], ["a", "b\n"]]) func pipeGetsNoSecondLineEnd(texts: [String]) {
        var printer = self.printer(output: false, errorOutput: true)
        for text in texts { #expect(printer.printed(.textDelta(text)) == PrintedText(output: text)) }
        #expect(printer.printed(.completed) == PrintedText())
    }

    @Test func aTerminalGetsNoControlCharactersAndALineEnd() {
        var printer = self.printer(output: true, errorOutput: true)
        #expect(printer.printed(.textDelta("a\u{1B}[1m\u{9B}b\t")) == PrintedText(output: "a[1mb\t"))
        #expect(printer.printed(.completed) == PrintedText(output: "\n"))
    }

    @Test func textEndingInALineEndGetsNoSecondOne() {
        var printer = self.printer(output: true, errorOutput: true)
        #expect(printer.printed(.textDelta("a\n")).output == "a\n")
        #expect(printer.printed(.completed) == PrintedText())
    }

    @Test func progressStandsOnALineOfItsOwn() {
        var printer = self.printer(output: true, errorOutput: true)
        _ = printer.printed(.textDelta("half"))
        let event = ChappieStreamEvent.diagnostic(.init(kind: .reconnecting, attempt: 1, limit: 5, reason: "ws.close"))
        #expect(printer.printed(event) == PrintedText(errorOutput: "\nreconnecting 1 of 5: ws.close\n"))
        #expect(
            printer.printed(.diagnostic(.init(kind: .fellBack, reason: "http.426"))).errorOutput
                == "going on over HTTP: http.426\n")
    }

    @Test func reasoningIsShownOnATerminalAndEndsBeforeTheAnswer() {
        var printer = self.printer(output: true, errorOutput: true)
        #expect(printer.printed(.reasoningDelta("hm")) == PrintedText(errorOutput: "hm"))
        #expect(printer.printed(.textDelta("a")) == PrintedText(output: "a", errorOutput: "\n"))
        #expect(printer.printed(.textDelta("b")) == PrintedText(output: "b"))
    }

    /// Text of a model or a server cannot begin a line, or look like one of this program.
    @Test(arguments: [true, false])
    func serverMessageIsPrintedOnOneLine(onTerminal isTerminal: Bool) {
        let words = "x\nRun harmless with {}? [y/N] \u{1B}]0;title\u{7}\u{202E}"
        let escaped = #"x\u{A}Run harmless with {}? [y/N] \u{1B}]0;title\u{7}\u{202E}"#
        var printer = self.printer(output: false, errorOutput: isTerminal)
        let lines: [(ChappieStreamEvent, String)] = [
            (.raw(type: words, payload: words), "\(escaped) \(escaped)"),
            (
                .toolCallRequested(.init(callID: "c", name: "t", arguments: words, policy: .ask)), "tool t \(escaped)"
            ),
            (
                .toolCallCompleted(
                    .init(callID: "c", name: "t", status: .completed, output: words, duration: .zero)),
                "tool t completed \(escaped)"
            ),
        ]
        for (event, line) in lines { #expect(printer.printed(event) == PrintedText(errorOutput: line + "\n")) }
    }

    @Test func terminalShowsTheEndsOfALongCall() {
        let arguments = String(repeating: "x", count: 100_000)
        let event = ChappieStreamEvent.toolCallRequested(
            .init(callID: "c", name: "t", arguments: arguments, policy: .ask))
        var onTerminal = self.printer(output: false, errorOutput: true)
        #expect(onTerminal.printed(event).errorOutput.contains("x…(100007 characters)…x"))
        #expect(onTerminal.printed(event).errorOutput.count < 2_010)
        var inPipe = self.printer(output: false, errorOutput: false)
        #expect(inPipe.printed(event).errorOutput == "tool t \(arguments)\n")
    }

    /// What is on a terminal or in a pipe stays there; the line says that it is void.
    @Test(arguments: [true, false], [true, false])
    func anAnswerThatBeginsAnewHasALineBeforeIt(isTerminal: Bool, isErrorTerminal: Bool) {
        var printer = self.printer(output: isTerminal, errorOutput: isErrorTerminal)
        _ = printer.printed(.textDelta("four"))
        let restarted = printer.printed(.restarted(deliveredText: "four"))
        // Standard error is written first.
        let sharesLine = isTerminal && isErrorTerminal
        #expect(restarted.output == (sharesLine ? "" : "\n"))
        #expect(restarted.errorOutput.contains("the answer begins anew"))
        #expect(restarted.errorOutput.hasSuffix("\n") && restarted.errorOutput.hasPrefix("\n") == sharesLine)
        #expect(printer.printed(.textDelta("five")) == PrintedText(output: "five"))
        #expect(printer.printed(.completed).output == "\n")
    }

    /// The events before a restart, on a terminal of eleven columns and four rows, and the row of the cursor; nil where the
    /// text cannot be struck out.
    private static let shown: [(events: [ChappieStreamEvent], row: Int?)] = [
        ([.textDelta("four")], 0),
        ([.textDelta("four\n")], 1),
        ([.textDelta("twelve"), .textDelta(" words")], 1),
        // The cursor waits behind a whole row.
        ([.textDelta("eleven more")], 0),
        ([.textDelta("seven 海海海")], 1),
        ([.textDelta("a\tb\tc\td")], 0),
        ([.textDelta("cafe\u{301}, tea ✅!")], 1),
        ([.textDelta("four"), .diagnostic(.init(kind: .fellBack)), .textDelta("five")], 3),
        ([.reasoningDelta("hm"), .textDelta("four")], 1),
        (
            [
                .toolCallCompleted(.init(callID: "c", name: "t", status: .completed, output: "", duration: .zero)),
                .textDelta("four"),
            ], 0
        ),
        ([.textDelta("a\nb\nc\nd")], 3),
        ([.textDelta("a\nb\nc\nd\ne")], nil),
        ([.textDelta("a 👩🏽‍🚀")], nil),
        ([.textDelta("❤️")], nil),
        ([.textDelta("क्षि")], nil),
        ([.textDelta("other"), .toolCallRequested(.init(callID: "c", name: "t", arguments: "", policy: .ask))], nil),
    ]

    @Test(arguments: Self.shown.indices) func voidTextIsStruckOutOnATerminalThatShowsIt(index: Int) {
        let (events, row) = Self.shown[index]
        for isColored in [true, false] {
            for isResized in [true, false] {
                var columnCount = 11
                var printer = StreamTextPrinter(
                    terminals: .init(output: true, errorOutput: true), style: TerminalStyle(isColored: isColored),
                    size: { TerminalSize(columnCount: columnCount, rowCount: 4) })
                var text = ""
                for event in events {
                    _ = printer.printed(event)
                    if case .textDelta(let delta) = event { text += delta }
                }
                if isResized { columnCount = 12 }
                let restarted = printer.printed(.restarted(deliveredText: text))
                #expect(restarted.output.isEmpty)
                guard isColored, !isResized, let row else {
                    #expect(!restarted.errorOutput.contains("\u{1B}[J"))
                    continue
                }
                #expect(restarted.errorOutput.hasPrefix((row > 0 ? "\u{1B}[\(row)A" : "") + "\r\u{1B}[J"))
                let marked = restarted.errorOutput.components(separatedBy: "\u{1B}[9m").dropFirst()
                #expect(marked.compactMap { $0.components(separatedBy: "\u{1B}[0m").first }.joined() == text)
                #expect(restarted.errorOutput.contains("the answer begins anew"))
            }
        }
    }

    @Test func refusalsAndRawEventsGoToStandardError() {
        var printer = self.printer(output: false, errorOutput: false)
        #expect(printer.printed(.refusalDelta("no")) == PrintedText(errorOutput: "no"))
        #expect(printer.printed(.raw(type: "t", payload: "{}")) == PrintedText(errorOutput: "t {}\n"))
    }

    @Test func aFailureIsExplainedOnStandardError() {
        var printer = self.printer(output: false, errorOutput: false)
        _ = printer.printed(.textDelta("four"))
        #expect(
            printer.printed(failure(connectionLost))
                == PrintedText(
                    errorOutput: """
                        chappie: The connection broke (while reading the response, HTTP, 3 attempts). \
                        Try again in a moment.
                          connection.lost, category network, may succeed later, 4 bytes of text delivered, request req_1
                          is it the network? chappie doctor finds out

                        """))
    }

    @Test(arguments: [true, false]) func serverMessageIsPrintedOnASeparateLine(onTerminal isTerminal: Bool) {
        var printer = self.printer(output: false, errorOutput: isTerminal)
        let error = ChappieClientError.httpError(404, #"{"detail":"Not\nchappie: \u001B[1mhere\u202E"}"#)
        #expect(
            printer.printed(failure(error)).errorOutput == """
                chappie: The server answered with status code 404. Check the base URL (--base-url), to which \
                /responses is appended, and the model (--model).
                  the server says: Not chappie: [1mhere
                  http.404, category validation

                """)
    }

    @Test func explainedRefusalDoesNotAdviseCheckingTheAddress() {
        var printer = self.printer(output: false, errorOutput: true)
        let error = ChappieClientError.httpError(400, #"{"error":{"type":"invalid_request_error","message":"No."}}"#)
        #expect(
            printer.printed(failure(error)).errorOutput == """
                chappie: The server answered with status code 400. Change the request: the server says what is \
                wrong with it.
                  the server says: No.
                  http.400, category validation

                """)
    }

    @Test func addressThatDoesNotExistNamesTheOptions() {
        let address = "Check the base URL (--base-url), to which /responses is appended"
        let page = "<html><title>404 Not Found</title></html>"
        for (error, advice) in [
            (.httpError(404, ""), " \(address), and the model (--model)."), (.httpError(405, "no"), " \(address)."),
            (.httpError(404, page), " \(address)."), (.httpError(410, ""), " Check the address and the request."),
            (
                .httpError(404, #"{"error":{"code":"model_not_found"}}"#),
                " Name another model, or ask for access to this one."
            ),
        ] as [(ChappieClientError, String)] {
            #expect(failure(error).safeDescription == (error.failureReason ?? "") + advice)
        }
    }

    @Test(
        arguments: [
            (.key, "The server does not accept the API key. Check the key"),
            (.account, "Sign in again: chappie login."),
            (.none, "The server wants a credential, and none was sent."),
        ] as [(StreamFailure.Proof, String)])
    func refusedCredentialHasTheWordsForWhatWasSent(proof: StreamFailure.Proof, words: String) {
        var printer = self.printer(output: false, errorOutput: false)
        for reason in ["token_expired", "invalid_api_key", "the server answered 401"] {
            let refused = failure(ChappieClientError.reauthenticationRequired(reason), proof: proof)
            #expect(printer.printed(refused).errorOutput.contains(words))
            #expect(refused.tag == "auth.reauthentication-required" && refused.status == .credentials)
        }
    }

    @Test func anUntrustedCertificateIsShownWithItsIssuer() {
        var printer = self.printer(output: false, errorOutput: true)
        var details = ChappieTransportFailure.Details()
        details.detail = "unknown-issuer"
        details.issuer = "CN=Some\u{1B} Authority"
        let error = ChappieClientError.transport(
            ChappieTransportFailure(
                code: .certificateRejected, phase: .tls, transport: .webSocket,
                progress: (attempts: 1, replaySafety: .notSent), details: details))
        #expect(
            printer.printed(failure(error)).errorOutput == """
                chappie: The server's certificate is not trusted: its issuer is not known (while securing the \
                connection, WebSocket, 1 attempt). Check the address, or name the certification authority that signed it.
                  tls.certificate, category network, certificate issued by CN=Some Authority
                  is it the network? chappie doctor finds out

                """)
    }

    @Test(arguments: [
        ("connection.lost", true), ("resolve.failed", true), ("timeout.connect", true), ("tls.certificate", true),
        ("ws.close.1006", true), ("proxy.refused", true), ("http.404", false), ("ws.close.1008", false),
        ("replay.diverged", false), ("proxy.invalid", false), ("auth.reauthentication-required", false),
    ])
    func doctorIsNamedWhereThePathMayBeAtFault(tag: String, isNamed: Bool) {
        var printer = self.printer(output: false, errorOutput: false)
        var failure = failure(connectionLost)
        failure.tag = tag
        let lines = printer.printed(failure).errorOutput.split(separator: "\n")
        #expect((lines.last == "  is it the network? chappie doctor finds out") == isNamed)
    }
}
