// Pings, keepalive events and comments on a schedule, pauses, silences and their records.
import Testing

@testable import ChappieTestServer

@Suite struct SignsOfLifeTests {
    private static let model: ChappieTestServer.ScriptedModel = {
        var model = ChappieTestServer.ScriptedModel(seed: 4, textByteCount: 200)
        model.includesReasoning = false
        return model
    }()

    private func withServer<Result>(
        _ faults: [ChappieTestServer.Fault] = [], _ change: (inout ChappieTestServer.Configuration) -> Void = { _ in },
        _ body: (ChappieTestServer, RawClient) throws -> Result
    ) throws -> Result {
        var configuration = ChappieTestServer.Configuration(model: .scripted(Self.model), faults: faults)
        change(&configuration)
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        return try body(server, RawClient(port: server.port))
    }

    private func upgrade(_ client: RawClient) throws {
        try client.upgrade()
        _ = try client.readHead()
    }

    @Test func anIdleWebSocketIsPingedAndItsPongsAreCompared() throws {
        try self.withServer([], { $0.pingInterval = .milliseconds(20) }) { server, client in
            try self.upgrade(client)
            let pings = try (1...3).map { _ in try client.readFrame() }
            #expect(pings.map(\.opcode) == [9, 9, 9])
            #expect(Set(pings.map(\.payload)).count == 3)
            try client.sendFrame(10, pings[0].payload)
            try client.sendFrame(10, Array("another".utf8))
            try client.sendFrame(10, pings[2].payload)
            try client.sendFrame(10, pings[2].payload)
            #expect(server.waitBlocking(for: .pongs(4)))
            let record = try #require(server.log.first)
            #expect(record.pongCount == 4)
            #expect(record.matchedPongCount == 2)
            #expect(record.sentPingCount >= 3)
        }
    }

    @Test func aClientThatAnswersNoPingIsClosed() throws {
        try self.withServer(
            [],
            {
                $0.pingInterval = .milliseconds(20)
                $0.pongTimeout = .milliseconds(60)
            }
        ) { _, client in
            try self.upgrade(client)
            var frame = try client.readFrame()
            while frame.opcode == 9 { frame = try client.readFrame() }
            #expect(frame.opcode == 8)
            #expect(frame.closeCode == 1011)
        }
    }

    @Test func aClientThatAnswersIsNotClosed() throws {
        try self.withServer(
            [],
            {
                $0.pingInterval = .milliseconds(100)
                $0.pongTimeout = .seconds(5)
            }
        ) { server, client in
            try self.upgrade(client)
            // Longer than the time limit for a pong, which a pause of a busy machine does not reach.
            let clock = ContinuousClock()
            let start = clock.now
            var count = 0
            while count < 40 || clock.now - start < .seconds(6) {
                let frame = try client.readFrame()
                #expect(frame.opcode == 9)
                try client.sendFrame(10, frame.payload)
                count += 1
            }
            #expect(server.waitBlocking(for: .pongs(count)))
        }
    }

    @Test func keepaliveEventsFillAPauseOfAWebSocket() throws {
        try self.withServer(
            [.init(.pause(afterEvent: 6, seconds: 0.3))], { $0.keepaliveInterval = .milliseconds(30) }
        ) { _, client in
            try self.upgrade(client)
            try client.sendText(plainRequest)
            let types = try client.readEvents().map { $0["type"]?.string ?? "" }
            let count = types.count { $0 == "keepalive" }
            #expect(count >= 3)
            #expect(Array(types[6..<6 + count]) == Array(repeating: "keepalive", count: count))
        }
    }

    @Test func keepaliveEventsAndCommentsFillAPauseOfAnEventStream() throws {
        try self.withServer(
            [.init(.pause(afterEvent: 6, seconds: 0.3))],
            {
                $0.keepaliveInterval = .milliseconds(50)
                $0.commentInterval = .milliseconds(30)
            }
        ) { _, client in
            try client.post(plainRequest)
            let body = try String(decoding: client.readBody(client.readHead()), as: UTF8.self)
            #expect(body.split(separator: "\n").count { $0 == ": waiting" } >= 3)
            let received = events(inStream: body)
            #expect(received.count { $0["type"]?.string == "keepalive" } >= 2)
            #expect(text(of: received) == Self.model.fullText)
        }
    }

    @Test func aPauseWithoutSignsIsSilent() throws {
        let clock = ContinuousClock()
        try self.withServer([.init(.pause(afterEvent: 6, seconds: 0.2))]) { _, client in
            let start = clock.now
            try client.post(plainRequest)
            let body = try String(decoding: client.readBody(client.readHead()), as: UTF8.self)
            #expect(clock.now - start >= .milliseconds(190))
            #expect(text(of: events(inStream: body)) == Self.model.fullText)
        }
    }

    @Test(arguments: [ChappieTestServer.Transport.webSocket, .http])
    func aHangSendsSignsOfLifeForEver(over transport: ChappieTestServer.Transport) throws {
        try self.withServer([.init(.hang(afterEvent: 2))], { $0.keepaliveInterval = .milliseconds(10) }) {
            server, client in
            if transport == .webSocket {
                try self.upgrade(client)
                try client.sendText(plainRequest)
                let frames = try (1...12).map { _ in try client.readFrame().text }
                #expect(frames.dropFirst(2).allSatisfy { $0 == ScriptEvent.keepalive.text })
            } else {
                try client.post(plainRequest)
                _ = try client.readHead()
                var received = ""
                while received.components(of: "event: keepalive") < 10 {
                    received += String(decoding: try client.read(1), as: UTF8.self)
                }
                #expect(events(inStream: received).count >= 11)
            }
            #expect(server.log.first?.isFinished == false)
        }
    }

    @Test(arguments: [
        ChappieTestServer.Fault.Action.stall(afterByte: 0, origin: .body), .stall(afterByte: 0), .hang(afterEvent: 2),
    ])
    func theRecordOfASilenceEndsWhenTheClientLeaves(_ action: ChappieTestServer.Fault.Action) throws {
        for transport in [ChappieTestServer.Transport.webSocket, .http] {
            try self.withServer([.init(action: action)]) { server, client in
                do {
                    // The socket is shut when the client goes out of this scope.
                    let leaving = try RawClient(port: server.port)
                    if transport == .http { try leaving.post(plainRequest) } else { try leaving.upgrade() }
                    #expect(server.waitBlocking(for: .attempts(1)))
                    // Another attempt comes and goes while the first one is silent.
                    try client.send("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    #expect(try client.readHead().status == 200)
                    #expect(server.log.first?.isFinished == false)
                    withExtendedLifetime(leaving) {}
                }
                #expect(server.waitBlocking(for: .finishedAttempts(1)))
                #expect(server.log.first?.isFinished == true)
            }
        }
    }

    @Test func connectionsAreCountedAndTheFirstOnesDropped() throws {
        try self.withServer([], { $0.droppedConnections = 1 }) { server, client in
            try client.post(plainRequest)
            #expect(client.readToEnd().bytes.isEmpty)
            let other = try RawClient(port: server.port)
            for _ in 1...2 {
                try other.post(plainRequest)
                #expect(try !other.readBody(other.readHead()).isEmpty)
            }
            #expect(server.connectionCount == 2)
            #expect(server.log.map(\.connection) == [2, 2])
            #expect(server.waitBlocking(for: .connections(2)))
        }
    }

    @Test func onlyAcceptedTokensAreAccepted() throws {
        try self.withServer([], { $0.acceptedTokens = ["fresh"] }) { server, client in
            for (field, status) in [
                ("Authorization: Bearer stale", 401), ("X: y", 401), ("Authorization: Bearer fresh", 200),
                ("authorization: bearer fresh", 200), ("Authorization: Basic fresh", 401),
            ] {
                try client.post(plainRequest, fields: [field])
                let head = try client.readHead()
                #expect(head.status == status, "\(field)")
                _ = try client.readBody(head)
            }
            try client.upgrade(fields: ["Authorization: Bearer stale"])
            #expect(try client.readHead().status == 401)
            #expect(server.log.map(\.hasAuthorization) == [true, false, true, true, false, true])
        }
    }
}

extension String {
    /// Returns the number of occurrences of a text.
    fileprivate func components(of text: String) -> Int { self.ranges(of: text).count }
}
