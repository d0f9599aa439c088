// Faults that strike at a byte: cuts, stalls, slow writes.
import Testing

@testable import ChappieTestServer

/// Returns the number of bytes before the body.
private func headByteCount(of bytes: [UInt8]) -> Int {
    let end = Array("\r\n\r\n".utf8)
    return 4 + (bytes.indices.first { bytes[$0...].starts(with: end) } ?? 0)
}

@Suite struct ByteFaultTests {
    /// A short response, so that every offset can be tried.
    private static func configuration(_ faults: [ChappieTestServer.Fault]) -> ChappieTestServer.Configuration {
        var model = ChappieTestServer.ScriptedModel(seed: 3, textByteCount: 1)
        model.includesReasoning = false
        model.variesDeltas = false
        return ChappieTestServer.Configuration(model: .scripted(model), faults: faults)
    }

    /// Returns a POST's answer with the faults, ids apart: a server gives its first response the same ones.
    private func answer(_ faults: [ChappieTestServer.Fault]) throws -> (bytes: [UInt8], end: ReadEnd) {
        let server = try ChappieTestServer(configuration: Self.configuration(faults))
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.post(plainRequest, fields: ["Connection: close"])
        let result = client.readToEnd()
        server.waitBlocking(for: .finishedAttempts(1))
        #expect(server.log.first?.sentByteCount == result.bytes.count)
        return result
    }

    /// The same of a WebSocket, from the 101 on.
    private func socket(_ faults: [ChappieTestServer.Fault]) throws -> (bytes: [UInt8], end: ReadEnd) {
        var configuration = Self.configuration(faults)
        configuration.faults.append(.init(action: .closeAfterResponse(code: 1000)))
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.upgrade()
        // A connection that is cut within the 101 does not take the request any more.
        try? client.sendText(plainRequest)
        try? client.sendFrame(8, [])
        return client.readToEnd()
    }

    @Test(arguments: ChappieTestServer.Fault.ConnectionCut.allCases)
    func anEventStreamIsCutAtAnyByte(_ cut: ChappieTestServer.Fault.ConnectionCut) throws {
        let whole = try self.answer([]).bytes
        let offsets = Array(0..<20) + Array(stride(from: 20, to: whole.count, by: 37)) + [whole.count - 1, whole.count]
        for offset in offsets {
            let (bytes, end) = try self.answer([.init(action: .cut(afterByte: offset, with: cut))])
            #expect(bytes == Array(whole.prefix(offset)))
            #expect(end == (cut == .reset ? .reset : .endOfStream))
        }
        #expect(try self.answer([.init(action: .cut(afterByte: whole.count + 1, with: cut))]).end == .endOfStream)
    }

    @Test(arguments: ChappieTestServer.Fault.ConnectionCut.allCases)
    func aWebSocketIsCutAtAnyByte(_ cut: ChappieTestServer.Fault.ConnectionCut) throws {
        let whole = try self.socket([]).bytes
        for offset in Array(0..<20) + Array(stride(from: 20, to: whole.count, by: 37)) + [whole.count - 1] {
            let (bytes, _) = try self.socket([.init(action: .cut(afterByte: offset, with: cut))])
            #expect(bytes == Array(whole.prefix(offset)))
        }
    }

    @Test(arguments: [0, 1, 2, 100])
    func bytesMayCountFromTheBody(_ offset: Int) throws {
        let whole = try self.answer([]).bytes
        let head = headByteCount(of: whole)
        let cut = try self.answer([.init(action: .cut(afterByte: offset, origin: .body))])
        #expect(cut.bytes == Array(whole.prefix(head + offset)))

        let frames = try self.socket([.init(action: .cut(afterByte: offset, origin: .body))]).bytes
        #expect(frames.count - headByteCount(of: frames) == offset)
    }

    @Test func hugeOffsetDoesNotTrap() throws {
        let whole = try self.answer([]).bytes
        #expect(try self.answer([.init(action: .cut(afterByte: Int.max, origin: .body))]).bytes == whole)
        #expect(try self.answer([.init(.cut(afterByte: -1))]).bytes.isEmpty)
    }

    @Test func onlyTheChosenAttemptIsCut() throws {
        let faults = [ChappieTestServer.Fault(.cut(afterByte: 10), attempts: 2...2)]
        let server = try ChappieTestServer(configuration: Self.configuration(faults))
        defer { server.stop() }
        let counts = try (1...3).map { _ in
            let client = try RawClient(port: server.port)
            try client.post(plainRequest, fields: ["Connection: close"])
            return client.readToEnd().bytes.count
        }
        #expect(counts[1] == 10)
        #expect(counts[0] > 10)
        #expect(counts[2] > 10)
    }

    @Test(arguments: [ChappieTestServer.Fault.ByteOrigin.response, .body])
    func stalledConnectionStaysOpenAndSendsNoBytes(_ origin: ChappieTestServer.Fault.ByteOrigin) throws {
        let faults = [ChappieTestServer.Fault(action: .stall(afterByte: 50, origin: origin))]
        let server = try ChappieTestServer(configuration: Self.configuration(faults))
        defer { server.stop() }
        let client = try RawClient(port: server.port, receiveTimeout: 1)
        try client.post(plainRequest)
        let result = client.readToEnd()
        #expect(result.end == .timedOut)
        #expect(origin == .body || result.bytes.count == 50)
    }

    @Test func stoppingEndsStalledAndIdleConnections() throws {
        let server = try ChappieTestServer(configuration: Self.configuration([.init(.stall(afterByte: 5))]))
        let stalled = try RawClient(port: server.port)
        try stalled.post(plainRequest)
        let idle = try RawClient(port: server.port)
        _ = try stalled.read(5)
        server.stop()
        #expect(stalled.readToEnd().end != .timedOut)
        #expect(idle.readToEnd().end != .timedOut)
        server.stop()
    }

    @Test func aThrottledAnswerIsWhole() throws {
        let whole = try self.answer([]).bytes
        #expect(try self.answer([.init(.throttle(bytesPerSecond: 100_000))]).bytes == whole)
    }
}
