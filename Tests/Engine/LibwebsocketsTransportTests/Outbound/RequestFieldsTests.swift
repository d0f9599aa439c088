// Requests that can be sent, and those that cannot.

import StreamTransport
import Testing
import WebSocketProtocol

@testable import LibwebsocketsTransport

@Suite struct RequestFieldsTests {
    private static func request(
        host: String = "h", target: String = "/", fields: [HTTPField] = [], body: [UInt8] = []
    ) -> TransportRequest {
        TransportRequest(
            endpoint: TransportEndpoint(isSecure: true, host: host, port: 443, target: target),
            exchange: .post(body: body), fields: fields)
    }

    @Test(arguments: [1, 2_001, 100_000])
    func aPathMayHaveAnyLength(_ count: Int) throws {
        let request = Self.request(target: "/" + String(repeating: "x", count: count - 1))
        #expect(RequestFields.fault(in: request) == nil)
        #expect(try Self.head(of: request).hasPrefix("POST \(request.endpoint.target) HTTP/1.1\r\nHost: h\r\n"))
    }

    @Test(arguments: [(0, false), (1, true), (254, true), (255, true), (256, false)])
    func hostHasFrom1To255Characters(_ count: Int, _ isSendable: Bool) {
        let host = String(repeating: "x", count: count)
        #expect((RequestFields.fault(in: Self.request(host: host)) == nil) == isSendable)
    }

    private static func head(of request: TransportRequest, handshake: OpeningHandshake? = nil) throws -> String {
        String(decoding: try RequestFields.head(of: request, handshake: handshake), as: UTF8.self)
    }

    @Test(arguments: ["\r", "\n", "\r\nX: y", "\0", " ", "\u{7F}", "é", "\u{85}"])
    func theRequestLineCannotBeBroken(_ text: String) {
        #expect(RequestFields.fault(in: Self.request(target: "/a\(text)b")) != nil)
        #expect(RequestFields.fault(in: Self.request(host: "a\(text)b")) != nil)
    }

    @Test(arguments: [
        "", " ", "a b", "a:", "a\r", "a\n", "a\0", "é", "(a)", "a\"", "a/b", "a,b", "a@b", "a{}", "\u{7F}",
    ])
    func aNameIsAToken(_ name: String) {
        #expect(RequestFields.fault(in: Self.request(fields: [HTTPField(name, "x")])) != nil)
    }

    @Test(arguments: ["\r", "\n", "\0", "a\r\nX: y", "\u{1}", "\u{7F}", "\u{1F}"])
    func aValueHasNoControls(_ value: String) throws {
        let secret = "secret-\(value)"
        let fault = try #require(RequestFields.fault(in: Self.request(fields: [HTTPField("A", secret)])))
        #expect(!fault.contains("secret"))
    }

    @Test(arguments: [
        "Host", "content-length", "TRANSFER-ENCODING", "Connection", "upgrade", "Sec-WebSocket-Key",
        "sec-websocket-protocol",
    ])
    func aFieldOfTheTransportsOwnIsRefused(_ name: String) {
        #expect(RequestFields.fault(in: Self.request(fields: [HTTPField(name, "x")])) != nil)
        #expect(RequestFields.fault(in: Self.request(fields: [HTTPField("x-" + name, "x")])) == nil)
    }

    @Test func onlyAPostCanBeHeld() {
        var request = Self.request()
        request.isHeld = true
        #expect(RequestFields.fault(in: request) == nil)
        request.exchange = .get
        #expect(RequestFields.fault(in: request) != nil)
        request.exchange = .webSocket(offersCompression: true)
        #expect(RequestFields.fault(in: request) != nil)
        request.isHeld = false
        #expect(RequestFields.fault(in: request) == nil)
    }

    @Test func getHasNoBodyFields() throws {
        var request = Self.request(fields: [HTTPField("A", "b")])
        request.exchange = .get
        #expect(
            try Self.head(of: request) == "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nA: b\r\n\r\n")
    }

    @Test(arguments: ["", "a", "a b", "a\tb", "é", "Bearer x.y-z_~+/=", "\"(),/:;<=>?@[\\]{}"])
    func anyOtherValueCanBeSent(_ value: String) {
        #expect(RequestFields.fault(in: Self.request(fields: [HTTPField("X-a!#$%&'*+-.^_`|~9", value)])) == nil)
    }

    @Test(
        arguments: [
            (true, "h", 443, "h"), (true, "h", 80, "h:80"), (false, "h", 80, "h"), (false, "h", 443, "h:443"),
            (true, "::1", 443, "[::1]"), (false, "2001:db8::1", 8_080, "[2001:db8::1]:8080"),
            (false, "127.0.0.1", 65_535, "127.0.0.1:65535"),
        ] as [(Bool, String, UInt16, String)])
    func hostNamesThePortThatIsNotTheSchemesOwn(_ isSecure: Bool, _ host: String, _ port: UInt16, _ value: String) {
        let endpoint = TransportEndpoint(isSecure: isSecure, host: host, port: port, target: "/")
        #expect(RequestFields.host(of: endpoint) == value)
    }

    @Test func postSendsContentLengthOfItsBody() throws {
        let request = Self.request(fields: [HTTPField("A", "1"), HTTPField("B", "")], body: [1, 2, 3])
        let head = "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 3\r\nA: 1\r\nB: \r\n\r\n"
        #expect(try Self.head(of: request) == head)
    }

    @Test(arguments: ["REPORT", "get", "M-SEARCH", "PROPFIND"])
    func aRequestMayHaveAMethodOfItsOwn(_ method: String) throws {
        var request = Self.request(body: [1, 2])
        request.method = method
        #expect(RequestFields.fault(in: request) == nil)
        let head = try Self.head(of: request)
        #expect(head.hasPrefix("\(method) / HTTP/1.1\r\n"))
        #expect(head.contains("Content-Length: 2\r\n"))
        request.exchange = .get
        #expect(try Self.head(of: request).hasPrefix("\(method) / HTTP/1.1\r\n"))
        #expect(try !Self.head(of: request).contains("Content-Length"))
    }

    @Test(arguments: ["", " ", "A B", "GET\r\nX: y", "é", "CONNECT", "A/B"])
    func anImpossibleMethodIsRefused(_ method: String) {
        var request = Self.request()
        request.method = method
        #expect(RequestFields.fault(in: request) != nil)
    }

    @Test func anUpgradeHasTheHandshakesFieldsFirst() throws {
        var request = Self.request(fields: [HTTPField("A", "1")])
        request.exchange = .webSocket(offersCompression: false)
        let handshake = OpeningHandshake(nonce: OpeningHandshake.Nonce(high: 1, low: 2), extensionOffer: nil)
        let text = try Self.head(of: request, handshake: handshake)
        #expect(text.hasSuffix("A: 1\r\n\r\n"))
        #expect(!text.contains("close"))
        #expect(text.contains("Sec-WebSocket-Version: 13\r\n"))
        #expect(!text.contains("Content-Length"))
    }
}

extension ServiceMailbox {
    /// Takes the commands that wait.
    fileprivate func drain() -> [ServiceCommand] {
        var commands: [ServiceCommand] = []
        _ = self.drain(into: &commands)
        return commands
    }
}

@Suite struct ServiceMailboxTests {
    private static func plan(_ number: UInt) -> ConnectionPlan {
        let request = TransportRequest(
            endpoint: TransportEndpoint(isSecure: false, host: "127.0.0.1", port: 1, target: "/"),
            exchange: .post(body: []))
        return ConnectionPlan(
            id: ConnectionID(rawValue: number), request: request, route: .success(Route()),
            arena: InboundArena(limits: request.limits), started: .now)
    }

    private static let unavailable = TransportEnd.failed(TransportFailure(phase: .connect, cause: .unavailable))

    @Test func mailboxDrainsCommandsInOrderAndOnce() {
        let mailbox = ServiceMailbox()
        for number in UInt(1)...3 { mailbox.post(.cancel(ConnectionID(rawValue: number))) }
        let numbers = mailbox.drain().map { command -> UInt in
            guard case .cancel(let id) = command else { return 0 }
            return id.rawValue
        }
        #expect(numbers == [1, 2, 3])
        #expect(mailbox.drain().isEmpty)
    }

    /// Commands that are posted while others are performed come out of the next drain.
    @Test func commandsArePostedWhileOthersArePerformed() {
        let mailbox = ServiceMailbox()
        var commands: [ServiceCommand] = []
        var rounds: [Int] = []
        mailbox.post(.cancel(ConnectionID(rawValue: 1)))
        while mailbox.drain(into: &commands) {
            rounds.append(commands.count)
            commands.removeAll(keepingCapacity: true)
            guard rounds.count < 3 else { continue }
            for _ in 0...rounds.count { mailbox.post(.resume(ConnectionID(rawValue: 1))) }
        }
        #expect(rounds == [1, 2, 3])
        mailbox.endDraining()
        mailbox.post(.ping(ConnectionID(rawValue: 1)))
        #expect(mailbox.drain().count == 1)
    }

    @Test func waitingCommandsAreRefused() throws {
        let mailbox = ServiceMailbox()
        let plan = Self.plan(1)
        mailbox.post(.open(plan))
        mailbox.post(.cancel(plan.id))
        mailbox.refuse(.unavailable)
        #expect(try #require(plan.arena.take(giving: InboundBuffer())).end == Self.unavailable)
        #expect(mailbox.drain().isEmpty)
    }

    @Test func laterCommandsAreRefused() async throws {
        let mailbox = ServiceMailbox()
        mailbox.refuse(.unavailable)
        let plan = Self.plan(1)
        mailbox.post(.open(plan))
        #expect(await plan.arena.wait(until: nil) == .ready)
        #expect(try #require(plan.arena.take(giving: InboundBuffer())).end == Self.unavailable)
        mailbox.post(.send(plan.id, OutboundMessage([1], kind: .text)))
        mailbox.post(.close(plan.id, 1000))
        mailbox.post(.resume(plan.id))
        #expect(mailbox.drain().isEmpty)
    }
}
