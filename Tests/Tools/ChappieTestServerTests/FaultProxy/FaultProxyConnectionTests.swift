// Whole connections: refused, silent, late, too many, and to servers that are not there.
import Foundation
import Glibc
import Testing

@testable import ChappieTestServer

@Suite struct FaultProxyConnectionTests {
    private static let bytes = Array("some bytes".utf8)

    // MARK: Faults of whole connections

    @Test func refusedConnectionIsResetWithoutReachingTheServer() throws {
        try withProxy([.init(.refuse, connections: 1...1)]) { fixture in
            let refused = try RawSocket(port: fixture.proxy.port)
            #expect(refused.readToEnd() == .init(bytes: [], end: .reset))
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1)))
            // The server's first connection is the client's second.
            try fixture.connect().exchange(Self.bytes, .toServer)
            let record = try fixture.record(1)
            #expect(record.end == .refused)
            #expect(record.strikes == [.init(action: .refuse)])
            #expect(!record.isConnected)
        }
    }

    @Test func aSilentConnectionIsNeverAnswered() throws {
        try withProxy([.init(.silence, connections: 1...1), .init(.delay(.zero), connections: 1...1)]) { fixture in
            let silent = try RawSocket(port: fixture.proxy.port)
            try silent.send(Self.bytes)
            silent.finishSending()
            #expect(fixture.proxy.waitBlocking(for: .strikes(1)))
            try fixture.connect().exchange(Self.bytes, .toServer)
            #expect(try fixture.record(1).end == nil)
            fixture.proxy.stop()
            #expect(silent.readToEnd().bytes.isEmpty)
            #expect(try fixture.record(1).toServer == .init())
        }
    }

    @Test func aDelayedConnectionReachesTheServerLate() throws {
        try withProxy([.init(.delay(.milliseconds(20))), .init(.delay(.milliseconds(10)))]) { fixture in
            let start = ContinuousClock.now
            let pair = try fixture.connect()
            #expect(ContinuousClock.now - start >= .milliseconds(30))
            try pair.exchange(Self.bytes, .toServer)
            try pair.exchange(Self.bytes, .toClient)
            #expect(try fixture.record(1).strikes == [.init(action: .delay(.milliseconds(30)))])
        }
    }

    // MARK: Servers

    @Test func aServerThatIsDownResetsTheClientAndMayComeLater() throws {
        let listener = try RawListener()
        let proxy = try FaultProxy(upstream: .init(host: "127.0.0.1", port: listener.port))
        defer { proxy.stop() }
        let early = try RawSocket(port: proxy.port)
        #expect(early.readToEnd() == .init(bytes: [], end: .reset))
        #expect(proxy.waitBlocking(for: .endedConnections(1)))
        #expect(proxy.connections.map(\.end) == [.unreachable(code: ECONNREFUSED)])

        try listener.start()
        let client = try RawSocket(port: proxy.port)
        let pair = ProxiedPair(client: client, server: try listener.acceptConnection())
        try pair.exchange(Self.bytes, .toServer)
        #expect(proxy.waitBlocking(for: .connected(1)))
        #expect(proxy.connections.map(\.isConnected) == [false, true])
    }

    @Test func aNameIsLookedUpAndItsAddressesAreTriedInTurn() throws {
        // On most systems `localhost` is ::1 first, where no program listens.
        try withProxy(host: "localhost") { fixture in
            try fixture.connect().exchange(Self.bytes, .toServer)
            try fixture.connect().exchange(Self.bytes, .toClient)
        }
    }

    @Test func aNameWithoutAnAddressResetsTheClient() throws {
        try withProxy(host: String(repeating: "x", count: 300)) { fixture in
            let client = try RawSocket(port: fixture.proxy.port)
            #expect(client.readToEnd() == .init(bytes: [], end: .reset))
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1)))
            #expect(try fixture.record(1).end == .unknownHost)
        }
    }

    // MARK: Ends that no fault made

    @Test(arguments: FaultProxy.Direction.allCases)
    func aResetOfOneEndReachesTheOtherAfterItsBytes(_ direction: FaultProxy.Direction) throws {
        try withProxy { fixture in
            let pair = try fixture.connect()
            try pair.exchange(Self.bytes, direction)
            try pair.sender(direction).send(Self.bytes)
            pair.sender(direction).reset()
            #expect(pair.receiver(direction).readToEnd() == .init(bytes: Self.bytes, end: .reset))
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1)))
            #expect(try fixture.record(1).end == .reset)
        }
    }

    @Test(arguments: FaultProxy.Direction.allCases)
    func aSenderPastACutIsNotHeldUpAndIsResetOnceTheReceiverHasClosed(_ direction: FaultProxy.Direction) throws {
        try withProxy([.init(.cut(atByte: 4), direction: direction)]) { fixture in
            let pair = try fixture.connect()
            try pair.sender(direction).send([UInt8](repeating: 1, count: 3_000_000))
            #expect(pair.receiver(direction).readToEnd() == .init(bytes: [1, 1, 1, 1], end: .endOfStream))
            pair.receiver(direction).finishSending()
            #expect(pair.sender(direction).readToEnd() == .init(bytes: [], end: .endOfStream))
            try #require(pair.sender(direction).sendUntilItFails())
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1)))
            #expect(try fixture.record(1).end == .reset)
        }
    }

    @Test func aServerThatStreamsToAClientThatHasGoneIsReset() throws {
        try withProxy { fixture in
            let pair = try fixture.connect()
            try pair.exchange(Self.bytes, .toClient)
            pair.client.finishSending()
            #expect(pair.server.readToEnd() == .init(bytes: [], end: .endOfStream))
            pair.client.reset()
            try #require(pair.server.sendUntilItFails())
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1)))
        }
    }

    // MARK: Limits

    @Test func connectionsBeyondTheLimitAreReset() throws {
        try withProxy([], { $0.maximumConnectionCount = 2 }) { fixture in
            let first = try fixture.connect()
            let second = try fixture.connect()
            #expect(try RawSocket(port: fixture.proxy.port).readToEnd() == .init(bytes: [], end: .reset))
            try second.exchange(Self.bytes, .toClient)
            first.client.finishSending()
            first.server.finishSending()
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(2)))
            try fixture.connect().exchange(Self.bytes, .toServer)
            #expect(try fixture.record(1).end == .closed)
            #expect(try fixture.record(3).end == .tooMany)
        }
    }

    @Test(arguments: [ConnectionFault.halfOpen(atByte: 0), .silence, .stall(atByte: 0)])
    func silentConnectionWithoutPeersIsReplacedAtTheLimit(_ action: ConnectionFault) throws {
        try withProxy([.init(action, connections: 1...1)], { $0.maximumConnectionCount = 1 }) { fixture in
            var client: RawSocket? = try RawSocket(port: fixture.proxy.port)
            var server = action == .silence ? nil : try fixture.listener.acceptConnection()
            #expect(fixture.proxy.waitBlocking(for: .strikes(1)))
            #expect(try RawSocket(port: fixture.proxy.port).readToEnd().end == .reset)
            #expect(client != nil || server != nil)
            (client, server) = (nil, nil)
            try fixture.connect().exchange(Self.bytes, .toServer)
            #expect(try fixture.record(1).end == .replaced)
        }
    }

    @Test func twoThousandConnectionsLeaveNoDescriptors() throws {
        let before = try ProcessResources.current()
        let actions: [ConnectionFault?] = [
            nil, .cut(atByte: 3), .cut(atByte: 3, with: .reset), .corrupt(atByte: 3), .refuse, .slice(byteCount: 1),
            .stall(atByte: 3), .halfOpen(atByte: 3),
        ]
        let faults = (0..<2000).compactMap { index in
            actions[index % 8].map { FaultProxy.Fault($0, connections: index + 1...index + 1) }
        }
        try withProxy(faults) { fixture in
            for first in stride(from: 1, through: 2000, by: 8) {
                let clients = try (0..<8).map { _ in try RawSocket(port: fixture.proxy.port) }
                let servers = try (0..<7).map { _ in try fixture.listener.acceptConnection() }
                for client in clients { try? client.send(Self.bytes) }
                for server in servers { try? server.send(Self.bytes) }
                #expect(fixture.proxy.waitBlocking(for: .connections(first + 7)))
                _ = consume servers
            }
            // A quarter of them are half-open or stalled for ever, and are kept.
            #expect(fixture.proxy.waitBlocking(for: .endedConnections(1500)))
            fixture.proxy.stop()
            let records = fixture.proxy.connections
            #expect(records.count == 2000)
            #expect(records.allSatisfy { $0.end != nil })
            #expect(records.filter { $0.end == .refused }.count == 250)
        }
        let after = try ProcessResources.current()
        // Other tests may run at the same time.
        #expect(after.descriptorCount < before.descriptorCount + 200)
        #expect(after.threadCount < before.threadCount + 100)
    }

    // MARK: Stopping

    @Test func stoppingEndsConnectionsInEveryState() throws {
        let faults: [FaultProxy.Fault] = [
            .init(.silence, connections: 1...1), .init(.delay(.seconds(100)), connections: 2...2),
            .init(.stall(atByte: 0), connections: 3...3), .init(.halfOpen(atByte: 0), connections: 4...4),
            .init(.stall(atByte: 0, for: .seconds(100)), connections: 5...5),
            .init(.throttle(bytesPerSecond: 0.001), connections: 6...6),
        ]
        try withProxy(faults) { fixture in
            let clients = try (0..<100).map { _ in try RawSocket(port: fixture.proxy.port) }
            for client in clients { try client.send(Self.bytes) }
            #expect(fixture.proxy.waitBlocking(for: .connected(98)))
            fixture.proxy.stop()
            fixture.proxy.stop()
            for client in clients { #expect(client.readToEnd().end != .timedOut) }
            #expect(fixture.proxy.connections.map(\.end) == Array(repeating: .stopped, count: 100))
            #expect(!fixture.proxy.waitBlocking(for: .connections(101)))
        }
    }

    @Test func releasedProxyClosesItsConnections() throws {
        var proxy: FaultProxy? = try FaultProxy(
            upstream: .init(host: "127.0.0.1", port: 9), plan: .init([.init(.silence)]))
        let client = try RawSocket(port: try #require(proxy?.port))
        #expect(proxy?.waitBlocking(for: .strikes(1)) == true)
        proxy = nil
        #expect(client.readToEnd().end != .timedOut)
    }

    @Test func aPortThatIsTakenIsAStartError() throws {
        try withProxy { fixture in
            #expect(throws: ChappieTestServer.StartError.cannotListen(code: EADDRINUSE)) {
                try FaultProxy(upstream: .init(host: "127.0.0.1", port: 9), port: UInt16(fixture.proxy.port))
            }
        }
    }
}

/// The resources that the process holds.
private struct ProcessResources {
    var descriptorCount: Int
    var threadCount: Int

    static func current() throws -> Self {
        let files = FileManager.default
        return Self(
            descriptorCount: try files.contentsOfDirectory(atPath: "/proc/self/fd").count,
            threadCount: try files.contentsOfDirectory(atPath: "/proc/self/task").count)
    }
}
