import ChappieTestServer
import Foundation
import StreamTransport
import Testing

@testable import ChappieSignIn

/// The listener that the browser comes back to, among strangers.
@Suite(.timeLimit(.minutes(10))) struct BrowserListenerTests {
    private static let state = "the-right-state"

    /// A listener that does not wait long for a browser to close.
    private static func listener(exchange: Duration = .seconds(10)) throws -> CallbackListener {
        var limits = CallbackLoop.Limits()
        limits.exchange = exchange
        limits.closing = .milliseconds(50)
        return try CallbackListener(port: 0, state: Self.state, limits: limits)
    }

    private static func callback(_ listener: CallbackListener) -> String {
        BrowserRequests.get("/auth/callback?code=c&state=\(Self.state)", port: listener.port)
    }

    /// The browser comes back, and is answered.
    private static func expectItWorks(_ listener: CallbackListener) async throws {
        let peer = try #require(BrowserRequests.connect(to: listener.port))
        peer.write(Self.callback(listener))
        #expect(await listener.nextOutcome() == .code("c"))
        await listener.finish(.signedIn)
        let answer = await BrowserRequests.answer(peer)
        #expect(answer.statusCode == 200 && answer.text.contains("You are signed in"))
        #expect(BrowserRequests.connect(to: listener.port) == nil)
    }

    @Test func requestsWithoutTheStateHaveNoEffect() async throws {
        let listener = try Self.listener()
        let port = listener.port
        let right = "/auth/callback?code=c&state=\(Self.state)"
        let requests: [(String, Int)] = [
            (BrowserRequests.get("/auth/callback?code=c&state=wrong", port: port), 400),
            (BrowserRequests.get("/auth/callback?error=e", port: port), 400),
            (BrowserRequests.get("/auth/callback?code=c", port: port), 400),
            ("GET \(right) HTTP/1.1\r\nHost: evil.example:\(port)\r\n\r\n", 403),
            ("GET \(right) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403),
            ("GET \(right) HTTP/1.1\r\n\r\n", 403),
            ("GET /cancel HTTP/1.1\r\nHost: evil.example:\(port)\r\n\r\n", 403),
            (BrowserRequests.get(right, port: port, fields: ["Origin: https://evil.example"]), 403),
            ("POST \(right) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: 3\r\n\r\nabc", 405),
            (BrowserRequests.get("/favicon.ico", port: port), 404),
            (BrowserRequests.get("/x", port: port, fields: ["X: \(String(repeating: "x", count: 9_000))"]), 431),
            (String(repeating: "x", count: 8_192), 431), ("\r\n\r\n", 400), ("\u{16}\u{3}\u{1}\r\n\r\n", 400),
        ]
        for (request, statusCode) in requests {
            let answer = try await BrowserRequests.send(request, to: port)
            #expect(answer.statusCode == statusCode)
            #expect(!answer.text.contains(Self.state) && !answer.text.contains("evil"))
        }
        #expect(listener.currentOutcome == nil)
        try await Self.expectItWorks(listener)
    }

    @Test func aRequestMayComeByteByByte() async throws {
        let listener = try Self.listener()
        let peer = try #require(BrowserRequests.connect(to: listener.port))
        for byte in Self.callback(listener).utf8 { peer.write([byte]) }
        #expect(await listener.nextOutcome() == .code("c"))
        await listener.finish(.signedIn)
        #expect(await BrowserRequests.answer(peer).text.contains("You are signed in"))
    }

    @Test func silentConnectionIsClosedAfterItsTimeout() async throws {
        let listener = try Self.listener(exchange: .milliseconds(50))
        let silent = try #require(BrowserRequests.connect(to: listener.port))
        let slow = try #require(BrowserRequests.connect(to: listener.port))
        slow.write("GET /auth/callback?co")
        // They are read to their ends, which only the listener makes.
        #expect(await BrowserRequests.answer(silent).text.isEmpty)
        #expect(await BrowserRequests.answer(slow).text.isEmpty)
        // Others are answered; on a busy machine one may itself be too slow for this limit, and then comes again.
        var answer = BrowserAnswer("")
        while answer.text.isEmpty {
            answer = try await BrowserRequests.send(BrowserRequests.get("/", port: listener.port), to: listener.port)
        }
        #expect(answer.statusCode == 404)
        #expect(listener.currentOutcome == nil)
    }

    /// A browser opens connections that it may need, and a stranger as many as there are.
    @Test func silentConnectionsDoNotBlockOthers() async throws {
        let listener = try Self.listener()
        let idle = (0..<200).compactMap { _ in BrowserRequests.connect(to: listener.port) }
        #expect(idle.count == 200)
        try await Self.expectItWorks(listener)
        // The end ends them all.
        for peer in idle { #expect(await BrowserRequests.answer(peer).text.isEmpty) }
    }

    @Test func theBrowserThatWaitsIsNotPushedOut() async throws {
        let listener = try Self.listener()
        let waiting = try #require(BrowserRequests.connect(to: listener.port))
        waiting.write(Self.callback(listener))
        #expect(await listener.nextOutcome() == .code("c"))
        let idle = (0..<40).compactMap { _ in BrowserRequests.connect(to: listener.port) }
        // Answered behind all of them.
        #expect(
            try await BrowserRequests.send(BrowserRequests.get("/", port: listener.port), to: listener.port).statusCode
                == 404)
        await listener.finish(.signedIn)
        #expect(await BrowserRequests.answer(waiting).text.contains("You are signed in"))
        #expect(idle.count == 40)
    }

    @Test func browserThatDoesNotCloseIsTimedOut() async throws {
        let listener = try Self.listener()
        let peer = try #require(BrowserRequests.connect(to: listener.port))
        peer.write(Self.callback(listener))
        #expect(await listener.nextOutcome() == .code("c"))
        await listener.finish(.signedIn)
        #expect(BrowserRequests.connect(to: listener.port) == nil)
        #expect(await BrowserRequests.answer(peer).text.contains("You are signed in"))
    }

    /// The end comes in the middle of what others are about to be answered.
    @Test func cancellingAmongManyConnectionsEndsThemAll() async throws {
        for _ in 0..<30 {
            let listener = try Self.listener()
            let peers = (0..<12).compactMap { _ in BrowserRequests.connect(to: listener.port) }
            for (number, peer) in peers.enumerated() {
                let target = number == 5 ? "/cancel" : "/\(number)"
                let request = BrowserRequests.get(target, port: listener.port)
                peer.write(number % 3 == 0 ? String(request.dropLast(4)) : request)
            }
            #expect(await listener.nextOutcome() == .cancelled)
            var answered = 0
            for peer in peers where await BrowserRequests.answer(peer).statusCode == 200 { answered += 1 }
            #expect(answered == 1)
            #expect(BrowserRequests.connect(to: listener.port) == nil)
        }
    }

    @Test func stoppingMayBeDoneOftenAndFromAnywhere() async throws {
        let listener = try Self.listener()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { listener.stop() } }
        }
        listener.stop()
        await listener.finish(.signedIn)
        #expect(await listener.nextOutcome() == nil)
        #expect(BrowserRequests.connect(to: listener.port) == nil)
    }

    @Test func manyListenersLeaveNoDescriptors() async throws {
        let before = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        for _ in 0..<200 { _ = try CallbackListener(port: 0, state: Self.state) }
        let after = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
        // Other tests' connections may have ended or begun meanwhile.
        #expect(after - before < 100)
    }

    // MARK: Ports

    private static func session(_ ports: [UInt16], _ clock: FlowClock) throws -> ChappieAuthSession {
        try Flow.session(port: 1, clock: clock, storage: FlowStorage()) { $0.callbackPorts = ports }
    }

    @Test func aPortThatIsBusyIsPassedOverAfterTenTries() async throws {
        let busy = try RawServer()
        let clock = FlowClock()
        let signIn = try await Self.session([busy.port, 0], clock).startBrowserSignIn()
        #expect(signIn.port != busy.port)
        #expect(clock.sleeps == Array(repeating: .milliseconds(200), count: 10))
        // Each time the owner of the port was asked to release it.
        let peer = try await busy.accept()
        let asked = await peer.read(until: "\r\n\r\n")
        #expect(asked.hasPrefix("GET /cancel HTTP/1.1\r\n"))
        #expect(asked.lowercased().contains("\r\nhost: 127.0.0.1:\(busy.port)\r\n"))
    }

    @Test func invalidPageRequestsNoPortFromAnotherInstance() async throws {
        let clock = FlowClock()
        let first = try await Self.session([0], FlowClock(hangs: true)).startBrowserSignIn()
        let session = try Flow.session(port: 1, clock: clock, storage: FlowStorage()) {
            $0.callbackPorts = [first.port]
            $0.server.authorization = URL(string: "http://issuer.example/authorize")
        }
        await #expect(throws: ChappieAuthError.self) { try await session.startBrowserSignIn() }
        #expect(clock.sleeps == [])
        // It listens still.
        let answer = try await BrowserRequests.ask("/", of: first)
        #expect(answer.statusCode == 404)
        first.cancel()
    }

    @Test func errorNamesThePortsThatAreTaken() async throws {
        let (one, other) = (try TakenPort(), try TakenPort())
        let session = try Self.session([one.port, other.port], FlowClock())
        let error = await #expect(throws: ChappieAuthError.self) { try await session.startBrowserSignIn() }
        #expect(error?.tag == "auth.unknown" && error?.requiresReauthentication == false)
        #expect(error?.localizedDescription.contains("\(one.port), \(other.port)") == true)
    }

    @Test func anotherInstanceLeavesItsPort() async throws {
        let first = try await Self.session([0], FlowClock(hangs: true)).startBrowserSignIn()
        let end = Task {
            await #expect(throws: ChappieAuthError.cancelledSignIn) { try await first.complete() }
        }
        let second = try await Self.session([first.port], FlowClock()).startBrowserSignIn()
        #expect(second.port == first.port)
        _ = await end.value
    }

    @Test func waitingForAPortCanBeCancelled() async throws {
        let busy = try RawServer()
        let clock = FlowClock(hangs: true)
        let session = try Self.session([busy.port], clock)
        let task = Task { try await session.startBrowserSignIn() }
        await clock.isAsleep.wait()
        task.cancel()
        await #expect(throws: ChappieAuthError.cancelledSignIn) { try await task.value }
    }
}
