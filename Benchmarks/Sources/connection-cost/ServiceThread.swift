// `connection-cost --service-thread`: what the transport's service thread does, for programs that count.
import CMachine
import Foundation
import LibwebsocketsTransport
import StreamTransport

/// Events and connections at the level of the transport, with a pause before and behind them.
///
/// As in `Iterations` the pauses are for whoever counts instructions. What is printed is beside that: processor time,
/// or resident memory.
struct ServiceThread {
    /// What the thread does.
    enum Work: String {
        /// Takes events in that come one at a time, 60 a second.
        case events
        /// Takes events in that come as fast as they are read, each a record of TLS where there is TLS.
        case records
        /// Opens WebSockets one after another, and closes each.
        case connections
        /// Keeps WebSockets on which nothing comes any more.
        case idle
    }

    let work: Work
    /// How many events or connections.
    let count: Int
    let isSecure: Bool
    /// How many other connections there are, on which nothing comes.
    let crowdCount: Int

    /// How many events or connections there are before the first pause.
    private static let warmUpCount = 20

    private func server() throws -> StreamServer {
        switch self.work {
        case .events:
            let mode = StreamServer.Mode.pace(messageCount: Self.warmUpCount + self.count, perSecond: 60)
            return try StreamServer(mode, isSecure: self.isSecure, isPinned: false)
        case .records:
            return try StreamServer(
                .flood(messageCount: self.count), isSecure: self.isSecure, isPinned: false, splitsRecords: true)
        case .connections, .idle:
            return try StreamServer(.idle, isSecure: self.isSecure, isPinned: false)
        }
    }

    /// Does it, and prints what it took.
    func run() async throws {
        if self.crowdCount > 0 || self.work == .idle { try Descriptors.require(self.crowdCount + self.count) }
        let server = try self.server(), idleServer = try StreamServer(.idle, isPinned: false)
        let transport = LibwebsocketsTransport(tls: TLSPolicy(server))
        let others = LibwebsocketsTransport(tls: TLSPolicy(idleServer))
        var crowd: [any TransportConnection] = []
        while crowd.count < self.crowdCount { crowd.append(try await others.opened(idleServer)) }
        switch self.work {
        case .events:
            let connection = try await transport.asked(server, for: Self.warmUpCount)
            try await self.measure { try await connection.take(self.count) }
        case .records:
            let connection = try await transport.opened(server)
            try await self.measure {
                connection.send(Array("{}".utf8), as: .text)
                try await connection.take(self.count)
            }
        case .connections:
            for _ in 0..<Self.warmUpCount { try await transport.opened(server).end() }
            try await self.measure {
                for _ in 0..<self.count { try await transport.opened(server).end() }
                // The last one's socket is closed behind the end.
                try await Task.sleep(for: .milliseconds(600))
            }
        case .idle:
            // What is made once, and pages that are half full.
            for _ in 0..<100 { crowd.append(try await transport.asked(server, for: 1)) }
            let before = try ProcessUse.residentByteCount()
            for _ in 0..<self.count { crowd.append(try await transport.asked(server, for: 1)) }
            try await Task.sleep(for: .milliseconds(300))
            let byteCount = try ProcessUse.residentByteCount() - before
            Line.print("\(byteCount / self.count) bytes resident, each")
        }
        withExtendedLifetime(crowd) {}
    }

    private func measure(_ body: () async throws -> Void) async throws {
        // What came before is closed, and every thread sleeps.
        try await Task.sleep(for: .milliseconds(700))
        cmachine_note_pause()
        let before = try ProcessUse.serviceTime()
        try await body()
        try await Task.sleep(for: .milliseconds(100))
        let time = try ProcessUse.serviceTime() - before
        cmachine_note_pause()
        Line.print("\(Int(time / Double(self.count) * 1e9)) ns of the service thread, each")
    }
}

extension TLSPolicy {
    /// What trusts a server's certificate.
    fileprivate init(_ server: StreamServer) {
        self.init(trust: server.certificatePath.map { .file(path: $0) } ?? .system)
    }
}

extension LibwebsocketsTransport {
    /// Opens a WebSocket.
    fileprivate func opened(_ server: StreamServer) async throws -> any TransportConnection {
        let endpoint = TransportEndpoint(
            isSecure: server.certificatePath != nil, host: "127.0.0.1", port: server.port, target: "/")
        var request = TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: false))
        // A program that is counted is slow, and pings would be counted.
        request.timeouts.connect = nil
        request.timeouts.pingInterval = nil
        let connection = self.connect(request)
        while true {
            if case .opened = try await connection.nextEvent() { return connection }
        }
    }

    /// Opens a WebSocket and asks for a response, of which the first messages are taken.
    fileprivate func asked(_ server: StreamServer, for count: Int) async throws -> any TransportConnection {
        let connection = try await self.opened(server)
        connection.send(Array("{}".utf8), as: .text)
        // The event that begins a response is a message too.
        try await connection.take(1 + count)
        return connection
    }
}

extension TransportConnection {
    /// Waits for the next event; throws at the end.
    fileprivate func nextEvent() async throws -> TransportEvent {
        while true {
            guard let event = self.next() else {
                _ = await self.wait(for: nil)
                continue
            }
            if case .ended(let end) = event { throw WrongResultError("the connection ended: \(end)") }
            return event
        }
    }

    /// Takes so many messages.
    fileprivate func take(_ count: Int) async throws {
        var left = count
        while left > 0 {
            if case .payload = try await self.nextEvent() { left -= 1 }
        }
    }

    /// Cancels it; the closing handshake goes on behind its end.
    fileprivate func end() async throws {
        self.cancel()
        do {
            while true { _ = try await self.nextEvent() }
        } catch is WrongResultError {
            return
        }
    }
}
