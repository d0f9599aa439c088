// Many messages of the client over real sockets: their order and content, and a server that reads slowly.

import ChappieTestServer
import Foundation
import StreamTransport
import Testing
import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketManyMessagesTests {
    private static let taskCount = 3
    private static let countOfTask = 300

    /// A message of a task: its place, and as many more bytes as make all sizes, a few of them worth compressing.
    private static func message(_ number: Int, ofTask task: Int) -> String {
        let length = number.isMultiple(of: 50) ? 6_000 : number * 37 % 500
        return "\(task) \(number) " + String(repeating: "x", count: length)
    }

    /// The messages of each task arrive whole and in its order, whatever the layers below and however little may wait.
    @Test(
        arguments: [(isSecure: false, isCompressed: false), (true, false), (false, true), (true, true)],
        [1, 8_000, 1 << 20])
    func messagesOfSeveralTasksArrive(over layers: (isSecure: Bool, isCompressed: Bool), watermark: Int) async throws {
        var serverConfiguration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        if layers.isSecure { serverConfiguration.tls = .init(certificate: .valid) }
        if layers.isCompressed { serverConfiguration.messageCompression = .deflate(.init()) }
        let server = try ChappieTestServer(configuration: serverConfiguration)
        let directory = try TemporaryDirectory()
        let scheme = layers.isSecure ? "wss" : "ws"
        var configuration = WebSocketConfiguration(
            url: try #require(URL(string: "\(scheme)://127.0.0.1:\(server.port)/v1/responses")))
        configuration.proxy = .none
        configuration.compression = layers.isCompressed ? .enabled : .disabled
        configuration.limits.sendWatermark = watermark
        if let certificate = server.caPEM {
            configuration.tls.trust = .file(path: try directory.write(certificate, to: "ca.pem"))
        }
        let connection = try await WebSocketConnection.open(configuration)
        #expect(connection.isCompressed == layers.isCompressed)

        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<Self.taskCount {
                group.addTask {
                    for number in 0..<Self.countOfTask {
                        try await connection.send(Self.message(number, ofTask: task))
                        if number.isMultiple(of: 100) { try await connection.ping() }
                    }
                }
            }
            // The server answers each message, which is no request, with an error.
            group.addTask {
                for _ in 0..<Self.taskCount * Self.countOfTask { _ = try await connection.receive() }
            }
            try await group.waitForAll()
        }
        let bodies = try #require(server.log.first).bodies
        #expect(bodies.count == Self.taskCount * Self.countOfTask)
        for task in 0..<Self.taskCount {
            let expected = (0..<Self.countOfTask).map { Self.message($0, ofTask: task) }
            #expect(bodies.filter { $0.hasPrefix("\(task) ") } == expected)
        }
        #expect(connection.report.sentMessageCount == bodies.count)
        connection.cancel()
    }

    /// A sender that the server's slowness has suspended goes on when the server reads, and no message is lost.
    @Test(arguments: [1, 64 << 10])
    func aSlowReaderSuspendsTheSenderForATime(watermark: Int) async throws {
        let opened = try await OpenedWebSocket(to: RawServer(receiveBufferByteCount: 16 << 10)) {
            $0.limits.sendWatermark = watermark
        }
        let (connection, peer) = (opened.connection, opened.peer)
        let isEnough = LockedValue(false)
        let sending = Task {
            var count = 0
            while !isEnough.withLock({ $0 }) {
                try await connection.send(Self.numbered(count))
                count += 1
            }
            return count
        }
        try await opened.settle()
        let sentBefore = connection.report.sentMessageCount
        isEnough.withLock { $0 = true }
        // One message more is on its way: the one whose sender waits.
        for number in 0...sentBefore {
            guard await peer.readMessage()?.payload == Self.numbered(number) else {
                Issue.record("message \(number) of \(sentBefore) is missing")
                break
            }
        }
        #expect(try await sending.value == sentBefore + 1)
        connection.cancel()
    }

    /// A message whose sender was cancelled is not sent; those before it, and a later one, are.
    @Test func theMessageOfACancelledSenderIsNotSent() async throws {
        let opened = try await OpenedWebSocket(to: RawServer(receiveBufferByteCount: 16 << 10)) {
            $0.limits.sendWatermark = 64 << 10
        }
        let (connection, peer) = (opened.connection, opened.peer)
        let sending = Task {
            for number in 0... { try await connection.send(Self.numbered(number)) }
        }
        try await opened.settle()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        let count = connection.report.sentMessageCount
        async let last: Void = connection.send("last")
        for number in 0..<count {
            guard await peer.readMessage()?.payload == Self.numbered(number) else {
                Issue.record("message \(number) of \(count) is missing")
                break
            }
        }
        #expect(await peer.readMessage() == RawPeer.Frame(opcode: 1, payload: Array("last".utf8)))
        try await last
        connection.cancel()
    }

    @Test func aCloseFrameIsBehindAllMessages() async throws {
        // The time for the handshake includes that in which the server reads all messages.
        let opened = try await OpenedWebSocket(to: RawServer(receiveBufferByteCount: 16 << 10)) {
            $0.timeouts.close = .seconds(40)
        }
        let (connection, peer) = (opened.connection, opened.peer)
        let count = 900
        for number in 0..<count { try await connection.send(Self.numbered(number)) }
        let closing = Task { try await connection.close() }
        for number in 0..<count {
            guard await peer.readMessage()?.payload == Self.numbered(number) else {
                Issue.record("message \(number) of \(count) is missing")
                break
            }
        }
        #expect(await peer.readCloseCode() == 1000)
        peer.writeFrame(opcode: 8, [0x03, 0xE8])
        #expect(try await closing.value.isClean)
    }

    /// A message of 1,000 bytes that has its number.
    private static func numbered(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) } + [UInt8](repeating: 7, count: 992)
    }
}
