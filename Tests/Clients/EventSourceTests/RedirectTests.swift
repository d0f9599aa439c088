// Redirects: methods and content, credentials, loops and limits, and what later attempts begin with.

import StreamTransport
import Testing

@testable import EventSource

@Suite struct RedirectTests {
    private static let body = Array("{}".utf8)
    private static let fields = [
        HTTPField("Accept", "text/event-stream"), HTTPField("Authorization", "Bearer secret"),
        HTTPField("cookie", "secret"), HTTPField("Content-Type", "application/json"),
        HTTPField("X-Own-Key", "secret"),
    ]

    private static func request(
        _ method: String = "GET", _ endpoint: TransportEndpoint = SessionFixture.endpoint
    ) -> EventSourceSession.Exchange {
        EventSourceSession.Exchange(
            method: method, endpoint: endpoint, fields: Self.fields, body: method == "GET" ? nil : Self.body)
    }

    /// Follows redirects, and returns what the last one leads to.
    private static func follow(
        _ redirects: [(statusCode: Int, location: String)], from request: EventSourceSession.Exchange = Self.request(),
        _ change: (inout EventSourceSession.Settings) -> Void = { _ in }
    ) -> EventSourceSession.Action {
        var fixture = SessionFixture(request, change)
        var action = fixture.session.start()
        for redirect in redirects {
            action = fixture.session.head(.answer(redirect.statusCode, "location", redirect.location))
            guard case .connect = action else { break }
        }
        return action
    }

    // MARK: Methods (RFC 9110 sections 15.4.2 to 15.4.9, WHATWG Fetch)

    @Test(arguments: [
        (301, "GET", "GET"), (302, "GET", "GET"), (303, "GET", "GET"), (307, "GET", "GET"), (308, "GET", "GET"),
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"), (308, "POST", "POST"),
        (301, "REPORT", "REPORT"), (302, "PUT", "PUT"), (303, "REPORT", "GET"), (307, "PUT", "PUT"),
        (303, "HEAD", "HEAD"),
    ])
    func methodFollowsTheStatusCode(_ statusCode: Int, _ method: String, _ expected: String) throws {
        let exchange = try #require(Self.follow([(statusCode, "/b")], from: Self.request(method)).exchange)
        #expect(exchange.method == expected)
        #expect(exchange.body == (expected == method && method != "GET" ? Self.body : nil))
        #expect((exchange.value(of: "Content-Type") == nil) == (expected != method))
        #expect(exchange.value(of: "Accept") == "text/event-stream")
    }

    // MARK: Credentials

    @Test(arguments: [
        ("/b", true), ("http://A.test/b", true), ("http://a.test:80/b", true), ("//a.test", true),
        ("http://b.test/b", false), ("http://a.test:81/b", false), ("https://a.test/b", false),
        ("http://a.test.b.test/", false),
    ])
    func credentialsStayAtTheirOrigin(_ location: String, _ areKept: Bool) throws {
        let exchange = try #require(Self.follow([(307, location)]).exchange)
        for name in ["Authorization", "Cookie", "X-Own-Key"] {
            #expect((exchange.value(of: name) != nil) == areKept)
        }
        #expect(exchange.value(of: "Accept") != nil)
    }

    @Test func credentialsDoNotComeBackWithTheOrigin() throws {
        let exchange = try #require(
            Self.follow([(307, "http://b.test/"), (307, "http://a.test/again")]).exchange)
        #expect(exchange.value(of: "Authorization") == nil)
    }

    /// Nor within the origin to which the chain has come back, whatever its status codes are.
    @Test(arguments: [301, 302, 303, 307, 308])
    func credentialsStayDroppedForTheRestOfTheChain(_ statusCode: Int) throws {
        let chain = [
            (statusCode, "http://b.test/"), (statusCode, "http://a.test/again"), (statusCode, "/further"),
            (statusCode, "//a.test/furthest"),
        ]
        for count in 1...chain.count {
            let exchange = try #require(Self.follow(Array(chain.prefix(count))).exchange)
            for name in ["Authorization", "Cookie"] { #expect(exchange.value(of: name) == nil) }
            #expect(exchange.value(of: "Accept") != nil)
        }
    }

    /// The next attempt is another chain, which begins with the program's request.
    @Test func credentialsAreSentAgainByTheNextAttempt() throws {
        let exchange = try #require(Self.reconnected([(302, "http://b.test/"), (302, "http://a.test/again")]))
        #expect(exchange.endpoint == SessionFixture.endpoint)
        #expect(exchange.value(of: "Authorization") == "Bearer secret")
    }

    @Test func fieldsThatTheProgramNamesAreCredentialsToo() throws {
        let exchange = try #require(
            Self.follow([(307, "http://b.test/")]) { $0.credentialFieldNames = ["accept"] }.exchange)
        #expect(exchange.fields == [HTTPField("Content-Type", "application/json")])
    }

    @Test func lastEventIDGoesAlong() throws {
        var fixture = SessionFixture(lastEventID: "7")
        _ = fixture.session.start()
        let exchange = try #require(fixture.session.head(.answer(302, "Location", "http://b.test/")).exchange)
        #expect(exchange.value(of: "Last-Event-ID") == "7")
    }

    // MARK: Refused redirects

    @Test func secureConnectionIsNotLeft() {
        let request = Self.request("GET", TransportEndpoint(isSecure: true, host: "a.test", port: 443, target: "/"))
        #expect(
            Self.follow([(307, "http://a.test/b")], from: request) == .fail(.redirect(.insecure, statusCode: 307)))
        #expect(Self.follow([(307, "//b.test/b")], from: request).exchange?.endpoint.isSecure == true)
    }

    @Test func loopIsFound() {
        let loop = EventSourceSession.Action.fail(.redirect(.loop, statusCode: 302))
        #expect(Self.follow([(302, "/events?x=1")]) == loop)
        #expect(Self.follow([(302, "#top")]) == loop)
        #expect(Self.follow([(302, "/b"), (302, "/c"), (302, "/b")]) == loop)
    }

    @Test func postThatBecomesAGetOfItsOwnAddressIsNoLoop() {
        #expect(Self.follow([(303, "/events?x=1")], from: Self.request("POST")).exchange?.method == "GET")
    }

    @Test(arguments: [(0, 0), (2, 2), (-1, 0)])
    func redirectsHaveALimit(_ limit: Int, _ followed: Int) {
        let redirects = (0...followed).map { (302, "/\($0)") }
        #expect(
            Self.follow(redirects) { $0.maximumRedirects = limit } == .fail(.redirect(.tooMany, statusCode: 302)))
        #expect(
            Self.follow(Array(redirects.dropLast())) { $0.maximumRedirects = limit }.exchange != nil)
    }

    @Test(arguments: ["ftp://a.test/", "mailto:a@b", "http://u:p@a.test/", "http:/b", "http://", "http://a.test:0/"])
    func impossibleLocationsAreRefused(_ location: String) {
        #expect(Self.follow([(302, location)]) == .fail(.redirect(.locationInvalid, statusCode: 302)))
    }

    // MARK: Later attempts

    private static func reconnected(
        _ redirects: [(statusCode: Int, location: String)], from request: EventSourceSession.Exchange = Self.request()
    ) -> EventSourceSession.Exchange? {
        var fixture = SessionFixture(request, lastEventID: "1")
        _ = fixture.session.start()
        for redirect in redirects {
            _ = fixture.session.head(.answer(redirect.statusCode, "Location", redirect.location))
        }
        _ = fixture.session.head(.events)
        fixture.receive("id: 2\ndata: a\n\n")
        return fixture.reconnect()
    }

    @Test(arguments: [
        ([301], "/0"), ([308, 301], "/1"), ([302], "/events?x=1"), ([307, 308], "/events?x=1"), ([303], "/events?x=1"),
    ])
    func onlyPermanentRedirectsAreRemembered(_ statusCodes: [Int], _ target: String) throws {
        let redirects = statusCodes.enumerated().map { ($1, "/\($0)") }
        let exchange = try #require(Self.reconnected(redirects))
        #expect(exchange.endpoint.target == target)
        #expect(exchange.fields.filter { $0.name == "Last-Event-ID" } == [HTTPField("Last-Event-ID", "2")])
    }

    @Test func permanentRedirectIsRememberedOnlyWhenItLedToAStream() {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        _ = fixture.session.head(.answer(301, "Location", "/b"))
        #expect(fixture.reconnect(.unreachable)?.endpoint == SessionFixture.endpoint)
    }

    @Test func credentialsAreNotSentToARememberedOtherOrigin() throws {
        let exchange = try #require(Self.reconnected([(301, "http://b.test/")]))
        #expect(exchange.endpoint.host == "b.test")
        #expect(exchange.value(of: "Authorization") == nil)
    }

    @Test func streamThatAPostHasNamedIsAskedForAgainInsteadOfThePost() throws {
        let exchange = try #require(Self.reconnected([(303, "/jobs/1")], from: Self.request("POST")))
        #expect(exchange.method == "GET")
        #expect(exchange.endpoint.target == "/jobs/1")
    }
}
