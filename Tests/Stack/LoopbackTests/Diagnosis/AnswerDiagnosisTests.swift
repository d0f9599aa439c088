// Examinations of servers on loopback whose answers are not those of the API, or those of a part of it.
import ChappieDiagnosis
import ChappieTestServer
import ChappieTransport
import PathDiagnosis
import Testing

@Suite(.timeLimit(.minutes(10))) struct AnswerDiagnosisTests: ExaminingSuite {
    @Test(arguments: [
        (
            AnsweringServer.response("404 Not Found", ["Content-Type: text/html"], body: "<html>no</html>"),
            "http.wrong-address"
        ),
        (
            AnsweringServer.response("502 Bad Gateway", ["Content-Type: text/html"], body: "<html>bad</html>"),
            "http.gateway-error"
        ),
        (AnsweringServer.response("200 OK", [], body: "<html><input type=\"password\"></html>"), "http.sign-in-page"),
        (AnsweringServer.response("403 Forbidden", [], body: "<html>Access denied</html>"), "http.block-page"),
        ("220 mail.invalid ESMTP\r\n", "http.not-http"),
    ])
    func anotherServerInThePlaceOfTheAPIIsNamed(answer: String, name: String) async throws {
        let server = try AnsweringServer(answer)
        Self.expect(name, .fails, in: try await Self.report(server.baseURL))
    }

    @Test func webPageFromLoopbackIsAWrongAddress() async throws {
        let server = try AnsweringServer(
            AnsweringServer.response("200 OK", ["Content-Type: text/html"], body: "<html>Hello</html>"))
        Self.expect("http.wrong-address", .fails, in: try await Self.report(server.baseURL))
    }

    /// A base URL with another path, at an API and at a probe server, which answer with JSON.
    @Test func aPathThatIsNotTheAPIsIsNamed() async throws {
        try await withServer(.init()) { server in
            for key in [nil, "key"] {
                let report = try await Self.report("http://127.0.0.1:\(server.port)/v2", key: key)
                Self.expect("http.wrong-address", .fails, in: report)
                #expect(report.causes.count == 1 && report.advice.isEmpty)
                #expect(report.result(of: .http)?.words == "status code 404, and for the responses too")
            }
            #expect(server.log.isEmpty)
        }
        let probe = try ProbeServer()
        defer { probe.stop() }
        let report = try await ChappieDiagnosis.run(
            .loopback("http://127.0.0.1:\(probe.port)"), extent: .whole, holds: [.seconds(1)])
        Self.expect("http.wrong-address", .fails, in: report)
        #expect(report.causes.count == 1)
        #expect(report.result(of: .http)?.words == "status code 404, of a probe server")
        #expect(report.result(of: .idle)?.outcome == .skipped)
    }

    /// The only request that such an API answers in another way is a POST; one without content asks no model.
    @Test(arguments: [400, 401, 405, 415]) func anAPIWithResponsesAloneIsAtItsPath(status: Int) async throws {
        let server = try AnsweringServer { head in
            guard head.hasPrefix("POST ") else {
                return AnsweringServer.response("404 Not Found", ["Content-Type: application/json"], body: "{}")
            }
            let isEmpty = head.lowercased().contains("\r\ncontent-length: 0\r\n")
            return AnsweringServer.response(isEmpty ? "\(status) No" : "404 Not Found")
        }
        let report = try await Self.report(server.baseURL)
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.result(of: .http)?.words == "status code 404")
    }

    /// A server of Chat Completions alone, another service, and one whose list of models is public.
    @Test(
        arguments: [
            ("404 Not Found", "http.no-responses"), ("405 Method Not Allowed", "http.no-responses"),
            ("200 OK", "http.wrong-address"), ("401 Unauthorized", "credential.refused"),
        ])
    func modelListWithoutResponsesIsNamed(status: String, name: String) async throws {
        let server = try AnsweringServer { head in
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : status
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect(name, .fails, in: report)
        #expect(report.causes.count == 1 && report.advice.isEmpty)
    }

    @Test(arguments: ["502 Bad Gateway", nil] as [String?])
    func aListOfModelsThatIsBrokenIsNoFaultOfTheResponses(status: String?) async throws {
        let server = try Self.server { hasKey, isList in
            isList ? status : hasKey ? "400 Bad Request" : "401 Unauthorized"
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.causes.count == 1)
        #expect(report.result(of: .http)?.words.contains("for the list of models alone") == true)
        #expect(report.result(of: .credential)?.words == "status code 400: not refused")
        let refusing = try Self.server { _, isList in isList ? status : "401 Unauthorized" }
        Self.expect("credential.refused", .fails, in: try await Self.report(refusing.baseURL, key: "key"))
    }

    /// The server asks for the key first, or says at once that it has no responses.
    @Test(arguments: ["502 Bad Gateway", nil] as [String?], ["401 Unauthorized", "404 Not Found"])
    func brokenListBesideMissingResponsesIsNamed(status: String?, withoutKey: String) async throws {
        let server = try Self.server { hasKey, isList in isList ? status : hasKey ? "404 Not Found" : withoutKey }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("http.no-responses", .fails, in: report)
        let words = status.map { "status code \($0.prefix(3))" } ?? "cut"
        #expect(
            report.causes.first?.evidence == ["\(words) for the list of models, and status code 404 for the responses"])
        #expect(report.causes.count == 1 && report.result(of: .webSocket)?.words == "an earlier step failed")
        guard withoutKey.hasPrefix("404") else { return }
        Self.expect("http.no-responses", .fails, in: try await Self.report(server.baseURL))
    }

    /// Its list of models is missing in another way than that of an API.
    @Test(arguments: ["404 Not Found", "501 Not Implemented"])
    func anAPIWithoutAListOfModelsIsAtItsPath(status: String) async throws {
        let server = try AnsweringServer { head in
            head.hasPrefix("POST ")
                ? AnsweringServer.response("401 Unauthorized", ["Content-Type: application/json"], body: "{}")
                : AnsweringServer.response(status, ["Content-Type: text/plain"], body: "none")
        }
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.allSatisfy { $0.name.hasPrefix("web-socket.") })
        #expect(report.result(of: .http)?.words == "status code \(status.prefix(3)) for the list of models alone")
    }

    /// Its only fault is the type of its answers.
    @Test func jsonWithTheTypeOfAPageIsNoPage() async throws {
        let server = try AnsweringServer { head in
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : "400 Bad Request"
            return AnsweringServer.response(status, ["Content-Type: text/html"], body: #"{"object":"list"}"#)
        }
        let report = try await Self.report(server.baseURL)
        #expect(report.result(of: .http)?.outcome == .ok)
        #expect(report.causes.allSatisfy { $0.name.hasPrefix("web-socket.") })
    }

    /// An API may answer a POST without content as one for a model that does not exist.
    @Test func modelNotFoundMeansThatThePathExists() async throws {
        let server = try AnsweringServer { head in
            let error = head.hasPrefix("POST ") ? #"{"error":{"code":"model_not_found"}}"# : "{}"
            return AnsweringServer.response("404 Not Found", ["Content-Type: application/json"], body: error)
        }
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.map(\.name) == ["web-socket.not-offered"])
    }

    /// A gateway that gives the responses alone.
    @Test(arguments: [
        "HTTP/1.1 403 Forbidden", "HTTP/1.1 302 Found\r\nLocation: https://id.invalid/login", "HTTP/1.1 200 OK",
        "HTTP/1.1 429 Too Many Requests", "garbage",
    ])
    func answeredResponsesExcuseAnyAnswerToTheModelList(head: String) async throws {
        let body = "<html>No</html>"
        let server = try AnsweringServer { request in
            if request.hasPrefix("GET /v1/models ") {
                return "\(head)\r\nContent-Type: text/html\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            }
            let status = request.hasPrefix("POST ") ? "400 Bad Request" : "404 Not Found"
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.causes.count == 1 && report.result(of: .credential)?.words == "status code 400: not refused")
    }

    /// The list of models alone works.
    @Test(
        arguments: [
            ("502 Bad Gateway", [], "<html>bad</html>", "http.gateway-error"),
            ("403 Forbidden", [], "<html>no</html>", "http.block-page"),
            ("307 Temporary Redirect", ["Location: /v1/responses/"], "", "http.redirected"),
            ("200 OK", [], "<html>Hello</html>", "http.wrong-address"), ("", [], "", "http.cut"),
        ])
    func failedPostWithoutWebSocketFails(status: String, fields: [String], body: String, name: String) async throws {
        let server = try AnsweringServer { head in
            if head.hasPrefix("POST ") {
                return status.isEmpty ? "" : AnsweringServer.response(status, fields, body: body)
            }
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : "404 Not Found"
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        Self.expect(name, .fails, in: try await Self.report(server.baseURL))
    }

    /// The list of models and the WebSocket work.
    @Test(
        arguments: [
            (.answer(status: 502), "http.gateway-error"), (.answer(status: 405), "http.not-offered"),
            (.cut(afterByte: 0), "http.cut"), (.stall(afterByte: 0), "http.no-answer"),
        ] as [(ChappieTestServer.Fault.Action, String)])
    func failedPostWithWorkingWebSocketIsDegraded(action: ChappieTestServer.Fault.Action, name: String) async throws {
        let report = try await Self.report(with: [.init(action: action, transport: .http)])
        Self.expect(name, .degraded, in: report)
        #expect(report.causes.count == 1 && report.sentence.hasPrefix("WebSockets work, but HTTP does not: "))
    }

    /// The list of models works; the broken one is that of a gateway, so that the responses are asked with the key.
    @Test(
        arguments: [
            ("200 OK", true, "http.responses-limited", "status code 429 for the responses"),
            ("502 Bad Gateway", true, "http.responses-limited", "status code 429 for the responses"),
            ("200 OK", false, "web-socket.limited", "status code 429"),
        ])
    func rateLimitIsReportedForEitherTransport(
        list: String, isHTTPOnly: Bool, name: String, words: String
    ) async throws {
        let server = try AnsweringServer { head in
            let fields = ["Content-Type: application/json", "Retry-After: 20"]
            let hasKey = head.lowercased().contains("\r\nauthorization: bearer ")
            let status = hasKey ? "429 Too Many Requests" : "401 Unauthorized"
            return AnsweringServer.response(head.hasPrefix("GET /v1/models ") ? list : status, fields, body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key") {
            if isHTTPOnly { $0.policy = .httpSSEOnly }
        }
        Self.expect(name, .degraded, in: report)
        #expect(report.causes.map(\.evidence) == [["\(words), Retry-After 20 s"]])
    }
}
