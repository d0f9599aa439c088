// Facts with one fault each, and the layer, the name and the sentence that they lead to.
import PathDiagnosis
import Testing

/// A fault, and what has to be said about it.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let name: String
    let step: ChappieDiagnosis.Step
    let verdict: ChappieDiagnosis.Verdict
    let sentence: String
    let facts: PathFacts

    var testDescription: String { self.name }

    init(
        _ name: String, _ step: ChappieDiagnosis.Step, _ verdict: ChappieDiagnosis.Verdict, _ sentence: String,
        _ facts: PathFacts
    ) {
        self.name = name
        self.step = step
        self.verdict = verdict
        self.sentence = sentence
        self.facts = facts
    }

    private static let zscaler = "CN=Zscaler Intermediate Root CA (zscaler.net),O=Zscaler Inc.,C=US"

    static let environment: [Self] = [
        .init(
            "environment.descriptors", .environment, .fails, "The process has no file descriptor left.",
            .healthy.with {
                $0.environment.fault = .descriptors(limit: 16)
                $0.resolution = .skipped(.notReached)
                $0.connection = .skipped(.notReached)
                $0.cut()
            }),
        .init(
            "environment.resources", .environment, .fails, "The system opens no socket, or starts no thread.",
            .healthy.with {
                $0.environment.fault = .resources
                $0.connection = .skipped(.notReached)
                $0.cut()
            }),
        .init(
            "environment.trust-anchors", .environment, .fails, "The file of trusted authorities cannot be read.",
            .healthy.with {
                $0.environment.fault = .trustAnchors
                $0.cut()
            }),
        .init(
            "environment.proxy-url", .environment, .fails, "The proxy's URL cannot be used.",
            .healthy.with {
                $0.environment.fault = .proxyURL("its port is not a number from 1 to 65535")
                $0.cut()
            }),
        .init(
            "environment.clock", .environment, .works, "WebSockets and HTTP work.",
            .healthy.with { $0.environment.clockLead = .seconds(-86_400) }),
    ]

    static let connecting: [Self] = [
        .init(
            "resolve.unknown-name", .resolve, .fails, "The server's name is not known to this machine's resolver.",
            .healthy.with {
                $0.resolution = .found(.init(failure: .unknownName))
                $0.connection = .skipped(.notReached)
                $0.cut()
            }),
        .init(
            "resolve.no-answer", .resolve, .fails, "No name server answers.",
            .healthy.with {
                $0.resolution = .found(.init(failure: .timedOut))
                $0.connection = .skipped(.notReached)
                $0.cut()
            }),
        .init(
            "resolve.slow", .resolve, .degraded, "WebSockets and HTTP work, but the look-up of the name is slow.",
            .healthy.with { $0.resolution = .found(.init(addresses: ["192.0.2.1"]), .init(duration: .seconds(5))) }),
        .init(
            "resolve.blocked", .resolve, .fails,
            "The resolver blocks the server's name: its answer is an address that leads nowhere.",
            .healthy.with {
                $0.resolution = .found(.init(addresses: ["0.0.0.0", "::"]))
                $0.connection = .found(.init(raced: .refused))
                $0.cut()
            }),
        .init(
            "connect.refused", .connect, .fails, "The server's machine refuses connections on this port.",
            .healthy.withoutConnection(.refused)),
        .init(
            "connect.no-answer", .connect, .fails, "Something on the path drops the packets to the server.",
            .healthy.withoutConnection(.timedOut).with { $0.environment.otherSchemeVariable = "HTTP_PROXY" }),
        .init(
            "connect.no-route", .connect, .fails, "There is no route to the server.",
            .healthy.withoutConnection(.noRoute)),
        .init(
            "connect.forbidden", .connect, .fails, "This machine forbids the connection.",
            .healthy.withoutConnection(.forbidden)),
        .init(
            "connect.ipv6-silent", .connect, .degraded,
            "WebSockets and HTTP work, but IPv6 to the server is dropped on the path, while IPv4 works.",
            .healthy.with {
                $0.connection = .found(
                    .init(
                        raced: .connected(.milliseconds(262)), version4: .connected(.milliseconds(12)),
                        version6: .timedOut))
            }),
    ]

    static let proxies: [Self] = [
        .init(
            "proxy.unresolved", .proxy, .fails, "The proxy's name is not known.",
            .proxied.with {
                $0.resolution = .found(.init(failure: .unknownName))
                $0.connection = .skipped(.notReached)
                $0.proxy = .found(.init(tunnel: nil))
                $0.cut()
            }),
        .init(
            "proxy.unreachable", .proxy, .fails, "The proxy cannot be reached.",
            .proxied.withoutConnection(.refused).with { $0.proxy = .found(.init(tunnel: nil)) }),
        .init(
            "proxy.login-missing", .proxy, .fails, "The proxy demands a login, and its URL has none.",
            .proxy(.loginMissing)),
        .init("proxy.login-refused", .proxy, .fails, "The proxy refuses the login.", .proxy(.loginRefused)),
        .init(
            "proxy.refused", .proxy, .fails, "The proxy refuses a tunnel to the server.", .proxy(.refused(code: 403))),
        .init(
            "proxy.other-protocol", .proxy, .fails,
            "What is at the proxy's address does not speak the protocol of its URL's scheme.", .proxy(.otherProtocol)),
        .init(
            "proxy.certificate", .proxy, .fails, "The proxy's certificate is not accepted.",
            .proxy(.certificate(.unknownIssuer, issuer: "CN=proxy"))),
        .init("proxy.no-answer", .proxy, .fails, "The proxy does not answer.", .proxy(.timedOut)),
    ]

    static let tls: [Self] = [
        .init(
            "tls.inspected", .tls, .fails, "A device on the path inspects TLS, and its authority is not trusted.",
            .tls(.certificate(.unknownIssuer, issuer: zscaler))),
        .init(
            "tls.unknown-issuer", .tls, .fails,
            "The authority that signed the server's certificate is not trusted.",
            .tls(.certificate(.unknownIssuer, issuer: "CN=Our own CA"))),
        .init(
            "tls.incomplete-chain", .tls, .fails,
            "The server does not send the certificate of the authority that has signed its own, an intermediate one or a "
                + "private root.",
            .tls(
                .certificate(.unknownIssuer, issuer: "CN=Example Intermediate"),
                chain: .init([.ofServer], rejectedDepth: 0))),
        .init(
            "tls.expired", .tls, .fails, "The server's certificate has expired.",
            .tls(.certificate(.expired, issuer: nil))),
        .init(
            "tls.authority-expired", .tls, .fails,
            "The certificate of an authority above the server's has expired.",
            .tls(
                .certificate(.expired, issuer: "CN=Example Root"),
                chain: .init([.ofServer, .intermediate], rejectedDepth: 1))),
        .init(
            "tls.wrong-host", .tls, .fails, "The certificate is for another host.",
            .tls(.certificate(.wrongHost, issuer: nil))),
        .init(
            "tls.plain-http", .tls, .fails,
            "The server has no TLS on this port, and the base URL begins with https.", .tls(.answeredInHTTP)),
        .init("tls.not-tls", .tls, .fails, "What answers on this port does not speak TLS.", .tls(.notTLS)),
        .init("tls.refused", .tls, .fails, "The server refuses the TLS handshake.", .tls(.alert(112))),
        .init("tls.cut", .tls, .fails, "The connection is cut during the TLS handshake.", .tls(.cut)),
        .init("tls.no-answer", .tls, .fails, "The TLS handshake is not answered.", .tls(.timedOut)),
    ]

    static let http: [Self] = [
        .init(
            "http.captive-portal", .http, .fails, "A captive portal answers in the server's place.",
            .http(.answered(.init(statusCode: 302, body: .other, redirection: .otherHost)))),
        .init(
            "http.sign-in-page", .http, .fails, "A sign-in page answers in the server's place.",
            .http(.answered(.init(statusCode: 200, body: .signInPage)))),
        .init(
            "http.block-page", .http, .fails, "A page that blocks the request answers in the server's place.",
            .http(.answered(.init(statusCode: 403, body: .page)))),
        .init(
            "http.wrong-address", .http, .fails, "The API is not at this address.",
            .http(.answered(.init(statusCode: 404, body: .page)))),
        .init(
            "http.credential-withheld", .http, .degraded,
            "The server answers, but the key was not sent over plain http to another machine, so that the answer to a request "
                + "with it was not examined.",
            .http(.answered(.init(statusCode: 404, body: .page))).with {
                $0.http = .found(.init(.answered(.init(statusCode: 404, body: .page)), inquiry: .withheld))
            }),
        .init(
            "http.responses-limited", .http, .degraded,
            "The server answers, but requests are limited at this time, so that responses over HTTP were not examined.",
            .healthy.with {
                var http = HTTPFacts(.answered(.init(statusCode: 200)), hasResponses: true)
                http.responsesAnswer = .init(statusCode: 429)
                $0.http = .found(http)
                $0.upgrade = .skipped(.httpOnly)
                $0.cutAboveUpgrade()
            }),
        .init(
            "http.gateway-error", .http, .fails, "A gateway answers that it does not reach the server.",
            .http(.answered(.init(statusCode: 502, body: .page)))),
        .init(
            "http.needs-tls", .http, .fails, "The server has TLS on this port, and the base URL begins with http.",
            .http(.needsTLS)),
        .init("http.not-http", .http, .fails, "What answers does not speak HTTP/1.1.", .http(.notHTTP)),
        .init(
            "http.no-answer", .http, .degraded,
            "WebSockets work, but HTTP does not: HTTP requests are not answered.",
            .healthy.with {
                $0.http = .found(.init(.timedOut))
                $0.credential = .skipped(.notReached)
            }),
        .init(
            "credential.refused", .credential, .fails, "The server does not accept the credential.",
            .healthy.with {
                $0.credential = .found(.init(statusCode: 401))
                $0.upgrade = .skipped(.notReached)
                $0.cutAboveUpgrade()
            }),
    ]

    static let credential: [Self] = [
        .init(
            "credential.forbidden", .credential, .fails, "The server does not allow the request with this credential.",
            .healthy.with {
                $0.credential = .found(.init(statusCode: 403))
                $0.upgrade = .skipped(.notReached)
                $0.cutAboveUpgrade()
            }),
        .init(
            "credential.unavailable", .credential, .fails,
            "There is no credential to send, because its source fails.",
            .healthy.with {
                $0.credential = .found(.init(.unavailable))
                $0.upgrade = .skipped(.notReached)
                $0.cutAboveUpgrade()
            }),
        .init(
            "credential.unusable", .credential, .fails,
            "The credential cannot be sent: it has a line break or a control character.",
            .healthy.with {
                $0.credential = .found(.init(.unusable, form: .lineBreakAtEnd))
                $0.upgrade = .skipped(.notReached)
                $0.cutAboveUpgrade()
            }),
    ]

    static let webSocket: [Self] = [
        .init(
            "web-socket.not-offered", .webSocket, .degraded,
            "HTTP works, but WebSockets do not: the server offers no WebSocket at this address.",
            .upgrade(.refused(statusCode: 426, isPage: false))),
        .init(
            "web-socket.blocked", .webSocket, .degraded,
            "HTTP works, but WebSockets do not: the upgrade is refused by something on the path.",
            .upgrade(.refused(statusCode: 403, isPage: true)).with {
                $0.upgrade = .found(.init(.refused(statusCode: 403, isPage: true), isOfPath: true))
            }),
        .init(
            "web-socket.altered", .webSocket, .degraded,
            "HTTP works, but WebSockets do not: something on the path alters the opening handshake.",
            .upgrade(.altered("Sec-WebSocket-Accept"))),
        .init(
            "web-socket.content", .webSocket, .degraded,
            "HTTP works, but WebSockets do not: the answer 101 has a Content-Length or a Transfer-Encoding, which RFC 9110 "
                + "section 8.6 and RFC 9112 section 6.1 forbid.", .upgrade(.announcesContent)),
        .init(
            "web-socket.no-answer", .webSocket, .degraded,
            "HTTP works, but WebSockets do not: the upgrade is not answered.", .upgrade(.timedOut)),
        .init(
            "compression.broken", .compression, .degraded,
            "HTTP works, but WebSockets do not: something on the path breaks the compression of WebSockets.",
            .healthy.with { $0.upgrade = .found(.init(.cut, worksUncompressed: true)) }),
        .init(
            "early-close.closed", .earlyClose, .degraded,
            "HTTP works, but WebSockets do not: the WebSocket is closed soon after it is established.",
            .healthy.with {
                $0.earlyClose = .found(.init(closeCode: 1011))
                $0.pings = .skipped(.notReached)
            }),
        .init(
            "messages.large", .messages, .degraded,
            "WebSockets and HTTP work, but large messages do not pass the WebSocket.",
            .probed.with {
                $0.messages = .found(
                    .init([
                        .init(byteCount: 63 << 10, echo: .returned(.milliseconds(30))),
                        .init(byteCount: 1 << 20, echo: .closed(code: 1009)),
                    ]))
            }),
        .init(
            "pings.unanswered", .pings, .degraded, "WebSockets and HTTP work, but pings are not answered.",
            .healthy.with { $0.pings = .found(.init(sentCount: 1, roundTrips: [])) }),
        .init(
            "pings.slow", .pings, .degraded, "WebSockets and HTTP work, but answers to pings are slow.",
            .healthy.with {
                $0.pings = .found(.init(sentCount: 10, roundTrips: Array(repeating: .milliseconds(1_400), count: 10)))
            }),
    ]

    static let streaming: [Self] = [
        .init(
            "event-stream.buffered", .eventStream, .degraded,
            "WebSockets and HTTP work, but event streams are buffered by something on the path.",
            .probed.with {
                // Buffered until a second and a half is full.
                $0.eventStream = .found(.paced { .milliseconds(1_500) * Double((Int($0 / .milliseconds(1_500))) + 1) })
            }),
        .init(
            "event-stream.whole", .eventStream, .degraded,
            "WebSockets and HTTP work, but event streams are held back until they have ended.",
            .probed.with { $0.eventStream = .found(.paced { _ in .seconds(2) }) }),
        .init(
            "event-stream.cut", .eventStream, .degraded,
            "WebSockets work, but HTTP does not: event streams are cut on the path.",
            .probed.with {
                var stream = EventStreamFacts.paced { $0 }
                stream.arrivals.removeLast(15)
                stream.end = .cut
                $0.eventStream = .found(stream)
            }),
        .init(
            "event-stream.altered", .eventStream, .degraded,
            "WebSockets work, but HTTP does not: something on the path alters event streams.",
            .probed.with {
                var stream = EventStreamFacts.paced { $0 }
                stream.end = .excessive
                $0.eventStream = .found(stream)
            }),
        .init(
            "idle.cut", .idle, .degraded, "WebSockets and HTTP work, but idle connections are cut on the path.",
            .probed.with {
                $0.idle = .found(
                    .init([
                        .init(asked: .seconds(30), isWebSocket: true),
                        .init(asked: .seconds(120), isWebSocket: true, cut: .seconds(60)),
                    ]))
            }),
        .init(
            "idle.early-answer", .idle, .degraded,
            "WebSockets and HTTP work, but something on the path answers an exchange that is to be silent.",
            .probed.with {
                var hold = IdleFacts.Hold(asked: .seconds(30), isWebSocket: false)
                hold.noteAnswer(statusCode: 502, after: .milliseconds(3))
                $0.idle = .found(.init([.init(asked: .seconds(30), isWebSocket: true), hold]))
            }),
    ]

    static let all = Self.environment + connecting + proxies + tls + http + credential + webSocket + streaming
}

@Suite struct PlantedFaultTests {
    @Test(arguments: PlantedFault.all) func everyFaultIsFoundInItsLayer(_ fault: PlantedFault) throws {
        let report = PathJudge(fault.facts).report
        let cause = try #require(report.causes.first)
        #expect(cause.name == fault.name)
        #expect(cause.step == fault.step)
        #expect(report.verdict == fault.verdict)
        #expect(report.sentence == fault.sentence)
        #expect(!cause.evidence.isEmpty && !cause.remedies.isEmpty)
        #expect(report.causes.count <= 3)
    }

    @Test func plantedFaultsAreAtLeast30WithUniqueNames() {
        #expect(Set(PlantedFault.all.map(\.name)).count == PlantedFault.all.count)
        #expect(PlantedFault.all.count >= 30)
    }

    @Test func aProxyOfTheOtherSchemeIsASecondCauseOfSilence() {
        let fault = PlantedFault.connecting.first { $0.name == "connect.no-answer" }
        let causes = fault.map { PathJudge($0.facts).report.causes.map(\.name) }
        #expect(causes == ["connect.no-answer", "environment.proxy-of-other-scheme"])
    }

    /// Only one of the two is right, and nothing says which.
    @Test(
        arguments: [
            (-3_660, "61 min behind the server's"), (86_400, "24 h ahead of the server's"),
        ]) func clockDifferenceIsReportedWithoutAFailure(lead: Int, words: String)
    {
        let facts = PathFacts.healthy.with { $0.environment.clockLead = .seconds(lead) }
        let report = PathJudge(facts).report
        #expect(report.verdict == .works && report.causes.first?.evidence == ["the clock is \(words)"])
        #expect(
            report.causes.first?.sentence
                == "This machine's clock and the server's differ by more than five minutes.")
        #expect(report.result(of: .environment)?.outcome == .ok)
        // A defect comes before a remark.
        let few = PathJudge(facts.with { $0.environment.descriptorLimit = 16 }).report
        #expect(few.causes.map(\.name) == ["environment.few-descriptors"])
    }

    @Test(
        arguments: [
            (nil, 262_000), ("262000", 0), ("0", 262_000), ("old", nil), ("-1", nil), ("99999999999", nil),
        ] as [(String?, Int?)]) func ageFieldCorrectsTheClockDifference(age: String?, lead: Int?)
    {
        let found = EnvironmentFacts.clockLead(at: 1_000_262_000, date: 1_000_000_000, age: age)
        #expect(found == lead.map { .seconds($0) })
    }

    @Test func verdictIsFailureWhenHTTPAndWebSocketsFail() {
        let report = PathJudge(
            .healthy.with {
                $0.http = .found(.init(.timedOut))
                $0.credential = .skipped(.notReached)
                $0.upgrade = .found(.init(.timedOut))
                $0.cutAboveUpgrade()
            }
        ).report
        #expect(report.verdict == .fails)
        #expect(report.causes.map(\.name) == ["http.no-answer", "web-socket.no-answer"])
        // Neither transport works, so none is advised.
        #expect(!report.advice.usesHTTPOnly)
    }

    /// A server that refuses the upgrade lives, and its turns may be faster than its list of models.
    @Test(
        arguments: [
            (.refused(statusCode: 405, isPage: false), .degraded),
            (.refused(statusCode: 401, isPage: false), .degraded),
            (.refused(statusCode: 405, isPage: true), .fails), (.refused(statusCode: 502, isPage: false), .fails),
            (.timedOut, .fails), (.cut, .fails),
        ] as [(UpgradeFacts.Handshake, ChappieDiagnosis.Verdict)])
    func silentModelListWithRefusedUpgradeIsDegraded(
        handshake: UpgradeFacts.Handshake, verdict: ChappieDiagnosis.Verdict
    ) {
        let report = PathJudge(
            .upgrade(handshake).with {
                $0.http = .found(.init(.timedOut), .init(duration: .milliseconds(15_000)))
                $0.credential = .skipped(.notReached)
            }
        ).report
        #expect(report.verdict == verdict && report.causes.first?.name == "http.no-answer")
        #expect(report.causes.first?.evidence == ["no answer within 15 s"])
        let silence = "HTTP requests are not answered within 15 s."
        #expect(report.sentence == (verdict == .fails ? silence : "The server answers, but \(silence)"))
    }

    @Test func aSilentListOfModelsIsNoFaultOfAServerThatAnswersForResponses() {
        let report = PathJudge(
            .upgrade(.refused(statusCode: 405, isPage: false)).with {
                $0.http = .found(.init(.timedOut, hasResponses: true))
            }
        ).report
        #expect(report.causes.map(\.name) == ["web-socket.not-offered"])
        #expect(
            report.sentence == "HTTP works, but WebSockets do not: the server offers no WebSocket at this address.")
    }

    @Test func aStreamThatEndsBeforeItsLastEventIsCut() {
        var stream = EventStreamFacts.paced { $0 }
        stream.askedCount = stream.arrivals.count
        stream.arrivals.removeLast()
        let report = PathJudge(.probed.with { $0.eventStream = .found(stream) }).report
        #expect(report.causes.map(\.name) == ["event-stream.cut"])
    }

    @Test func slowMessageLimitFollowsTheRateOfTheMessageBefore() {
        var facts = MessageFacts([])
        #expect(!facts.isSlow(forMessageOf: 1 << 20, within: .milliseconds(1)))
        // At 1 ms for 1,000 bytes, with the same again for what varies.
        facts.messages = [.init(byteCount: 64_000, echo: .returned(.milliseconds(64)))]
        #expect(!facts.isSlow(forMessageOf: 1_000_000, within: .seconds(2)))
        #expect(facts.isSlow(forMessageOf: 1_000_000, within: .milliseconds(1_999)))
        facts.messages[0].echo = .damaged
        #expect(!facts.isSlow(forMessageOf: 1_000_000, within: .milliseconds(1)))
    }

    @Test func aMessageThatIsLateTwiceIsAFault() {
        let messages = MessageFacts([
            .init(byteCount: 63 << 10, echo: .returned(.milliseconds(30))), .init(byteCount: 1 << 20, echo: .timedOut),
        ])
        let report = PathJudge(.probed.with { $0.messages = .found(messages) }).report
        #expect(report.causes.map(\.name) == ["messages.large"])
    }

    /// Lost packets delay pings as well as events; a buffer delays events alone.
    @Test func eventsThatAreAsLateAsPingsAreNotBuffered() {
        let stalled = EventStreamFacts.paced { $0 < .milliseconds(500) ? $0 : max($0, .milliseconds(1_700)) }
        func causes(_ pings: [Int]) -> [String] {
            let trips = pings.map { Duration.milliseconds($0) }
            let facts = PathFacts.probed.with {
                $0.eventStream = .found(stalled)
                $0.pings = .found(.init(sentCount: trips.count, roundTrips: trips))
            }
            return PathJudge(facts).report.causes.map(\.name)
        }
        #expect(causes([600, 610, 1_600]) == ["pings.slow"])
        #expect(causes([20, 21, 22]) == ["event-stream.buffered"])
        #expect(causes([]) == ["pings.unanswered", "event-stream.buffered"])
    }

    @Test func timesOfHeadAndFirstEventAreReported() {
        #expect(
            PathJudge(.probed).report.result(of: .eventStream)?.words
                == "head after 30 ms, first event after 40 ms, then at their pace")
    }

    /// The engine reads such a stream by its beginning, so that no turn fails of it.
    @Test func generalContentTypeOfAStreamIsNamedAndHarmless() {
        func report(_ stream: EventStreamFacts) -> ChappieDiagnosis.Report {
            var stream = stream
            stream.generalType = "text/plain"
            return PathJudge(.probed.with { $0.eventStream = .found(stream) }).report
        }
        let remark = "its content type is text/plain and not text/event-stream, and it is read all the same"
        let paced = report(.paced { $0 })
        #expect(paced.verdict == PathJudge(.probed).report.verdict && paced.causes.isEmpty)
        #expect(
            paced.result(of: .eventStream)?.words
                == "head after 30 ms, first event after 40 ms, then at their pace; \(remark)")
        let buffered = report(.paced { $0 < .milliseconds(500) ? $0 : max($0, .milliseconds(1_700)) })
        #expect(buffered.causes.first?.evidence.contains(remark) == true)
    }

    /// The engine does not read an answer with another content type as an event stream.
    @Test(arguments: [(true, "a web page's content type"), (false, "another content type")])
    func aStreamWithAnotherContentTypeIsAltered(isPage: Bool, words: String) {
        let stream = EventStreamFacts(head: .zero, arrivals: [], end: .otherType(isPage: isPage))
        let report = PathJudge(.probed.with { $0.eventStream = .found(stream) }).report
        #expect(report.verdict == .degraded)
        #expect(report.causes.map(\.name) == ["event-stream.altered"])
        #expect(report.result(of: .eventStream)?.words == words)
    }

    /// An answer that comes at once tells nothing about a silence; that of a gateway that has given up does.
    @Test(
        arguments: [
            (502, 3, ["an HTTP exchange was refused with status code 502 after 3 ms"], nil),
            (200, 3, ["an HTTP exchange was answered after 3 ms, and not after 3.0 s of silence"], nil),
            (504, 2_000, ["an HTTP exchange was cut after 2.0 s of silence"], 2_000), (200, 2_990, [], nil),
        ] as [(Int, Int, [String], Int?)])
    func answerBeforeTheEndOfASilenceIsJudgedByItsTime(code: Int, time: Int, evidence: [String], cut: Int?) {
        var hold = IdleFacts.Hold(asked: .seconds(3), isWebSocket: false)
        hold.noteAnswer(statusCode: code, after: .milliseconds(time))
        #expect(hold.cut == cut.map { .milliseconds($0) })
        let report = PathJudge(.probed.with { $0.idle = .found(.init([hold])) }).report
        #expect(report.causes.flatMap(\.evidence) == evidence)
        #expect(report.verdict == (evidence.isEmpty ? .works : .degraded))
        #expect((report.advice.pingInterval != nil) == (cut != nil))
    }

    /// A success without its body is no answer, and a step for which no time was left no success.
    @Test func successWithoutItsBodyIsNoAnswer() {
        func report(_ upgrade: Examined<UpgradeFacts>) -> ChappieDiagnosis.Report {
            var http = HTTPFacts(.timedOut)
            http.heldCode = 200
            return PathJudge(
                PathFacts.http(.timedOut).with {
                    $0.http = .found(http, .init(duration: .seconds(11)))
                    $0.upgrade = upgrade
                }
            ).report
        }
        let held = report(.skipped(.noTime))
        #expect(held.verdict == .fails)
        #expect(held.sentence == "HTTP requests are not answered within 11 s.")
        #expect(held.causes.first?.evidence == ["status code 200, and no whole body within 11 s"])
        #expect(report(.found(.init(.established))).verdict == .degraded)
    }

    @Test func webSocketIsNotJudgedWhenNoTimeWasLeft() {
        func report(_ change: (inout PathFacts) -> Void) -> ChappieDiagnosis.Report {
            PathJudge(.upgrade(.cut).with { $0.upgrade = .skipped(.noTime) }.with(change)).report
        }
        let answered = report { _ in }
        #expect(answered.verdict == .degraded)
        #expect(answered.sentence == "The server answers, but no time was left to examine the WebSocket.")
        #expect(answered.causes.map(\.name) == ["web-socket.not-examined"])
        #expect(answered.result(of: .webSocket)?.outcome == .skipped)
        let unanswered = report {
            $0.http = .skipped(.noTime)
            $0.credential = .skipped(.noTime)
        }
        #expect(unanswered.verdict == .degraded)
        #expect(unanswered.sentence == "No time was left to examine the WebSocket.")
    }

    /// An end while pings are awaited is the end of the WebSocket, and no silence.
    @Test(
        arguments: [
            (EarlyCloseFacts(closeCode: 1008), "closed with code 1008 at once"),
            (EarlyCloseFacts(closeCode: 1008, after: .milliseconds(300)), "closed with code 1008 after 300 ms"),
            (EarlyCloseFacts(closeCode: 1006, after: .seconds(2)), "cut without a close frame after 2.0 s"),
        ])
    func codeAndTimeOfAnEarlyCloseAreReported(facts: EarlyCloseFacts, words: String) {
        let report = PathJudge(
            .healthy.with {
                $0.earlyClose = .found(facts)
                $0.pings = .skipped(.notReached)
            }
        ).report
        #expect(report.verdict == .degraded)
        #expect(report.causes.map(\.name) == ["early-close.closed"])
        #expect(report.causes.map(\.evidence) == [[words]])
    }

    @Test func unknownNameRemediesMentionPunycode() {
        let fault = PlantedFault.connecting.first { $0.name == "resolve.unknown-name" }
        let remedies = fault.flatMap { PathJudge($0.facts).report.causes.first?.remedies }
        #expect(remedies?.contains { $0.contains("xn--") } == true)
    }

    /// A look-up is slow from two seconds; without an answer only the time of the wait is known.
    @Test func lookUpOfTwoSecondsOrMoreIsReported() {
        func report(_ facts: ResolutionFacts, _ time: Duration) -> ChappieDiagnosis.Report {
            PathJudge(
                .healthy.with {
                    $0.resolution = .found(facts, .init(duration: time))
                    if facts.failure != nil {
                        $0.connection = .skipped(.notReached)
                        $0.cut()
                    }
                }
            ).report
        }
        let found = ResolutionFacts(addresses: ["192.0.2.1"])
        #expect(report(found, .milliseconds(1_999)).verdict == .works)
        let slow = report(found, .seconds(2))
        #expect(slow.causes.map(\.evidence) == [["1 IPv4, 0 IPv6 after 2.0 s"]])
        let none = report(.init(failure: .timedOut), .milliseconds(1_500))
        #expect(none.sentence == "No name server answers within 1.5 s.")
        #expect(none.verdict == .fails)
        #expect(report(.init(failure: .noAnswer), .seconds(5)).sentence == "No name server answers.")
    }

    /// A stream that stalls without an end has lost its other events; those of a slow one are late.
    @Test func stalledEventStreamIsReportedAsCut() {
        func report(_ count: Int, silence: Duration) -> ChappieDiagnosis.Report {
            var stream = EventStreamFacts.paced { $0 }
            stream.arrivals.removeLast(20 - count)
            (stream.end, stream.askedCount, stream.silence) = (.timedOut, 20, silence)
            return PathJudge(.probed.with { $0.eventStream = .found(stream) }).report
        }
        let stalled = report(5, silence: .seconds(1))
        #expect(stalled.verdict == .degraded)
        #expect(stalled.sentence == "WebSockets work, but HTTP does not: event streams are cut on the path.")
        #expect(stalled.causes.map(\.evidence) == [["silent after 5 of 20 events"]])
        let slow = report(19, silence: .milliseconds(999))
        #expect(slow.causes.map(\.name) == ["event-stream.buffered"])
        #expect(slow.causes.map(\.evidence) == [["19 of 20 events in time"]])
        #expect(report(20, silence: .seconds(4)).verdict == .works)
    }

    @Test func aStreamWithoutAnEventIsSilent() {
        for end in [EventStreamFacts.End.complete, .timedOut] {
            let facts = EventStreamFacts(head: .milliseconds(20), arrivals: [], end: end)
            let report = PathJudge(.probed.with { $0.eventStream = .found(facts) }).report
            #expect(report.causes.map(\.name) == ["event-stream.no-answer"])
        }
    }

    @Test func aProxyThatIsNotNeededIsNamed() {
        let report = PathJudge(.proxy(.refused(code: 403), isNeedless: true)).report
        #expect(report.causes.first?.evidence.last?.contains("NO_PROXY") == true)
    }

    /// A web server accepts a tunnel with status code 200, and answers with its page.
    @Test(
        arguments: [
            (.found(.init(.notTLS)), .skipped(.notReached), "tls.not-tls"),
            (.found(.init(.closed)), .skipped(.notReached), "tls.cut"),
            (.skipped(.noTLS), .found(.init(.notHTTP)), "http.not-http"),
        ] as [(Examined<TLSFacts>, Examined<HTTPFacts>, String)])
    func aProxyIsSuspectedBehindItsTunnel(tls: Examined<TLSFacts>, http: Examined<HTTPFacts>, name: String) {
        func cause(_ facts: PathFacts) -> ChappieDiagnosis.Cause? {
            let report = PathJudge(
                facts.with {
                    $0.tls = tls
                    $0.cutAboveTLS()
                    $0.http = http
                }
            ).report
            #expect(report.verdict == .fails)
            return report.causes.first
        }
        let proxied = PathFacts.proxied.with {
            $0.proxy = .found(.init(address: "proxy.example:3128", tunnel: .established, isNeedless: true))
        }
        let behind = cause(proxied)
        #expect(behind?.name == name)
        #expect(behind?.remedies.first?.hasPrefix("The proxy may answer in the server's place") == true)
        #expect(behind?.remedies.contains { $0.contains("set HTTPS_PROXY") } == false)
        #expect(behind?.evidence.last?.contains("NO_PROXY") == true)
        let direct = cause(.healthy)
        #expect(direct?.remedies.first?.contains("proxy may answer") == false)
        #expect(direct?.remedies.contains { $0.contains("set HTTPS_PROXY") } == (name == "tls.cut"))
    }

    @Test func schemeOfAProxyWithAnotherProtocolIsNamed() {
        let cause = PathJudge(.proxy(.speaksHTTP)).report.causes.first
        #expect(cause?.name == "proxy.other-protocol")
        #expect(cause?.evidence == ["it speaks HTTP without TLS, for which the scheme is http"])
        for tunnel in [ProxyFacts.Tunnel.timedOut, .cut] {
            #expect(tunnel.mayBeOfOtherScheme)
            let remedies = PathJudge(.proxy(tunnel)).report.causes.first?.remedies
            #expect(remedies?.contains { $0.hasPrefix("Check the scheme of the proxy's URL") } == true)
        }
        #expect(!ProxyFacts.Tunnel.refused(code: 403).mayBeOfOtherScheme)
    }

    @Test func adviceFollowsFromTheCauses() {
        func advice(_ name: String) -> ChappieDiagnosis.Advice? {
            PlantedFault.all.first { $0.name == name }.map { PathJudge($0.facts).report.advice }
        }
        #expect(advice("web-socket.no-answer")?.usesHTTPOnly == true)
        #expect(advice("compression.broken")?.disablesCompression == true)
        #expect(advice("tls.inspected")?.variables == ["SSL_CERT_FILE"])
        #expect(advice("idle.cut")?.pingInterval == .seconds(30))
        #expect(advice("event-stream.whole")?.isEmpty == true)
    }

    /// A variable that names the proxy already is the one to correct; one of the configuration has none.
    @Test func proxyVariableInTheAdviceFollowsTheScheme() {
        func variables(_ facts: PathFacts) -> [String] { PathJudge(facts).report.advice.variables }
        let silent = PathFacts.healthy.withoutConnection(.timedOut)
        #expect(variables(silent) == ["HTTPS_PROXY"])
        #expect(variables(silent.with { $0.isSecure = false }) == ["HTTP_PROXY"])
        let refused = PathFacts.proxy(.loginRefused)
        #expect(variables(refused) == ["HTTPS_PROXY"])
        #expect(variables(refused.with { $0.environment.proxyVariable = "all_proxy" }) == ["all_proxy"])
        #expect(variables(refused.with { $0.environment.proxyVariable = nil }) == [])
    }

    @Test func addressesAreInTheFullWordsAlone() {
        for fault in PlantedFault.all {
            let report = PathJudge(fault.facts).report
            let words =
                [report.sentence] + report.steps.map(\.words)
                + report.causes.flatMap { [$0.sentence] + $0.evidence + $0.remedies }
            for word in words {
                #expect(!word.contains("192.0.2.1") && !word.contains("2001:db8") && !word.contains("proxy.example"))
                #expect(!word.contains("inner.example"))
            }
        }
    }
}
