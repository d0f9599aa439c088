// Records, milestones and log lines of a fault proxy.
import Synchronization
import Testing

@testable import ChappieTestServer

@Suite struct FaultProxyLogTests {
    private static let bytes = Array("some bytes".utf8)

    @Test func everyEventIsLoggedAsALineOfJSON() throws {
        let lines = Mutex<[String]>([])
        let faults: [FaultProxy.Fault] = [
            .init(.cut(atByte: 4), connections: 1...1), .init(.refuse, connections: 2...2),
        ]
        try withProxy(faults, { $0.logLine = { line in lines.withLock { $0.append(line) } } }) { fixture in
            let pair = try fixture.connect()
            try pair.exchange(Self.bytes, .toServer)
            try pair.server.send(Self.bytes)
            pair.server.finishSending()
            #expect(pair.client.readToEnd().bytes.count == 4)
            pair.client.finishSending()
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1)))
            _ = try RawSocket(port: fixture.proxy.port).readToEnd()
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(2)))
        }
        #expect(
            lines.withLock { $0 } == [
                #"{"event":"accepted","connection":1}"#,
                #"{"event":"connected","connection":1}"#,
                #"{"event":"fault","connection":1,"direction":"toClient","bytes":4,"fault":"cut"}"#,
                #"{"event":"finished","connection":1,"direction":"toClient","bytes":4}"#,
                #"{"event":"finished","connection":1,"direction":"toServer","bytes":10}"#,
                #"{"event":"ended","connection":1,"end":"closed","toServerBytes":10,"toClientBytes":4}"#,
                #"{"event":"accepted","connection":2}"#,
                #"{"event":"fault","connection":2,"fault":"refuse"}"#,
                #"{"event":"ended","connection":2,"end":"refused","toServerBytes":0,"toClientBytes":0}"#,
            ])
    }

    @Test func anUnreachableServerIsInTheLogWithItsReason() throws {
        let lines = Mutex<[String]>([])
        let listener = try RawListener()
        var configuration = FaultProxy.Configuration(upstream: .init(host: "127.0.0.1", port: listener.port))
        configuration.logLine = { line in lines.withLock { $0.append(line) } }
        let proxy = try FaultProxy(configuration: configuration)
        defer { proxy.stop() }
        _ = try RawSocket(port: proxy.port).readToEnd()
        #expect(proxy.waitBlocking(for: .endedConnections(1)))
        #expect(
            lines.withLock { $0.last } == #"{"event":"ended","connection":1,"end":"unreachable","code":111,"#
                + #""reason":"Connection refused","toServerBytes":0,"toClientBytes":0}"#)
    }

    @Test func recordsAreBoundedAndCanBeForgotten() throws {
        try withProxy([], { $0.maximumRecordCount = 3 }) { fixture in
            let pairs = try (0..<5).map { _ in try fixture.connect() }
            try pairs[4].exchange(Self.bytes, .toServer)
            #expect(fixture.proxy.connections.map(\.number) == [3, 4, 5])
            fixture.proxy.clearLog()
            #expect(fixture.proxy.connections.isEmpty)
            try fixture.connect().exchange(Self.bytes, .toServer)
            #expect(fixture.proxy.connections.map(\.number) == [6])
        }
    }

    @Test func milestonesAreReachedWhenTheyHappenAndNotBefore() async throws {
        let fixture = try ProxyFixture([.init(.corrupt(atByte: 0))])
        defer { fixture.proxy.stop() }
        let proxy = fixture.proxy
        async let isConnected = proxy.reached(.connected(1))
        async let hasStruck = proxy.reached(.strikes(1))
        async let isDelivered = proxy.reached(.deliveredBytes(10, .toClient))
        async let isEnded = proxy.reached(.endedConnections(1))
        async let comesSecond = proxy.reached(.connections(2))
        let pair = try fixture.connect()
        #expect(await isConnected)
        try pair.server.send(Self.bytes)
        #expect(await hasStruck)
        #expect(await isDelivered)
        #expect(await proxy.reached(.connections(1)))
        pair.client.finishSending()
        pair.server.finishSending()
        #expect(await isEnded)
        proxy.stop()
        #expect(await !comesSecond)
        #expect(await !proxy.reached(.connections(2)))
    }

    @Test func cancelledTaskStopsWaiting() async throws {
        let fixture = try ProxyFixture()
        defer { fixture.proxy.stop() }
        let proxy = fixture.proxy
        let task = Task { await proxy.reached(.connections(1)) }
        task.cancel()
        #expect(await !task.value)
    }

    @Test func theAddressIsTheServersApartFromTheAuthority() throws {
        try withProxy { fixture in
            let port = fixture.proxy.port
            #expect(fixture.proxy.authority == "127.0.0.1:\(port)")
            #expect(fixture.proxy.baseURL() == "http://127.0.0.1:\(port)/v1")
            #expect(fixture.proxy.baseURL(scheme: "wss", path: "/x") == "wss://127.0.0.1:\(port)/x")
        }
    }
}
