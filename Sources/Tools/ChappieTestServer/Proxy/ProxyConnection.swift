// One client, one server, and the relay between them.
//
// Owned by the proxy's loop, on its thread.
import PlatformC

/// A relayed connection from `accept` to its end.
final class ProxyConnection {
    /// The two ends.
    enum End {
        case client
        case server
    }

    /// An end that is reset when it has acknowledged the bytes that were sent to it.
    struct Resetting {
        var server: ProxySocket
        var awaited: End
        /// Indicates whether a fault resets the other end as well; otherwise that one is closed.
        var resetsBoth: Bool
        var nextLook: Duration
    }

    enum Phase {
        /// The connection to the server is delayed.
        case delayed(until: Duration)
        /// The server's name is looked up.
        case resolving
        /// The server is connected to; other addresses may be left.
        case connecting(ProxySocket, others: ArraySlice<ProxyAddress>)
        case relaying(ProxySocket)
        /// No bytes are read or written any more.
        case silent(ProxySocket?)
        case resetting(Resetting)
        case ended
    }

    /// The system reports no event for acknowledgements, so it is polled; on loopback the first poll usually suffices.
    private static let acknowledgementInterval = Duration.milliseconds(2)

    let number: Int
    let client: ProxySocket
    private let log: ProxyLog
    private(set) var phase = Phase.resolving
    private(set) var toServer: ProxyRelay
    private(set) var toClient: ProxyRelay
    private var logged = (toServer: FaultProxy.Traffic(), toClient: FaultProxy.Traffic())
    private var clientIsAway = false
    private var serverIsAway = false

    /// Takes an accepted socket and the faults that apply to it.
    init(_ descriptor: CInt, number: Int, faults: [FaultProxy.Fault], log: ProxyLog, now: Duration) {
        func actions(_ direction: FaultProxy.Direction) -> [ConnectionFault] {
            faults.filter { $0.direction == direction }.map(\.action).filter { $0.byteOffset != nil }
        }
        self.number = number
        self.client = ProxySocket(descriptor)
        self.log = log
        self.toServer = ProxyRelay(.toServer, faults: actions(.toServer))
        self.toClient = ProxyRelay(.toClient, faults: actions(.toClient))
        self.begin(faults.map(\.action).filter { $0.byteOffset == nil }, now: now)
    }

    private func begin(_ actions: [ConnectionFault], now: Duration) {
        let delay = actions.reduce(into: Duration.zero) { sum, action in
            if case .delay(let duration) = action { sum += duration }
        }
        if actions.contains(.refuse) {
            self.strike(.refuse)
            self.resetClient(.refused)
        } else if actions.contains(.silence) {
            self.strike(.silence)
            self.phase = .silent(nil)
        } else if delay > .zero {
            self.strike(.delay(delay))
            self.phase = .delayed(until: now + delay)
        }
    }

    private func strike(_ action: ConnectionFault) {
        self.log.strike(self.number, .init(action: action, direction: nil, byteOffset: nil))
    }

    // MARK: State

    /// Indicates whether the connection is over and its sockets are closed.
    var isEnded: Bool { if case .ended = self.phase { true } else { false } }

    /// The socket to the server; nil while there is none.
    var server: ProxySocket? {
        switch self.phase {
        case .connecting(let server, _), .relaying(let server): server
        case .silent(let server): server
        case .resetting(let resetting): resetting.server
        case .delayed, .resolving, .ended: nil
        }
    }

    /// Indicates whether the server's addresses are wanted.
    var needsAddresses: Bool { if case .resolving = self.phase { true } else { false } }

    /// Indicates whether the client is known to send no more.
    var hasClientLeft: Bool { self.clientIsAway || self.toServer.sourceEnd != nil }

    /// Indicates whether the server is known to send no more.
    var hasServerLeft: Bool { self.serverIsAway || self.toClient.sourceEnd != nil }

    // MARK: Inputs

    /// Handles the server's addresses; none when its name is unknown.
    func resolved(_ addresses: [ProxyAddress], now: Duration) {
        guard self.needsAddresses else { return }
        guard !addresses.isEmpty else { return self.resetClient(.unknownHost) }
        self.connect(addresses[...], lastError: 0)
    }

    /// Handles readiness, or the passage of time.
    func advance(_ readiness: ProxyReadiness, now: Duration) {
        if readiness.client & ProxyReadiness.hangUps != 0 { self.clientIsAway = true }
        if readiness.server & ProxyReadiness.hangUps != 0 { self.serverIsAway = true }
        switch self.phase {
        case .delayed(let until): if now >= until { self.phase = .resolving }
        case .connecting(let server, let others):
            if readiness.server != 0 { self.finishConnecting(server, others, now: now) }
        case .relaying(let server): self.relay(server, readiness, now: now)
        case .resetting(let resetting): if now >= resetting.nextLook { self.reset(resetting, now: now) }
        case .resolving, .silent, .ended: break
        }
    }

    /// Closes the connection whatever its state.
    func close(_ end: FaultProxy.ConnectionEnd) {
        guard !self.isEnded else { return }
        self.server?.closeDescriptor()
        self.client.closeDescriptor()
        self.end(end)
    }

    private func resetClient(_ end: FaultProxy.ConnectionEnd) {
        self.client.reset()
        self.end(end)
    }

    private func end(_ end: FaultProxy.ConnectionEnd) {
        self.phase = .ended
        self.logTraffic()
        self.log.end(self.number, end)
    }

    // MARK: Connecting

    private func connect(_ addresses: ArraySlice<ProxyAddress>, lastError: CInt) {
        var others = addresses
        var code = lastError
        while let address = others.popFirst() {
            switch ProxySocket.connecting(to: address) {
            case .begun(let server):
                self.phase = .connecting(server, others: others)
                return
            case .failed(let failure): code = failure
            }
        }
        self.resetClient(.unreachable(code: code))
    }

    private func finishConnecting(_ server: ProxySocket, _ others: ArraySlice<ProxyAddress>, now: Duration) {
        let code = server.connectionError
        guard code == 0 else {
            server.closeDescriptor()
            return self.connect(others, lastError: code)
        }
        self.serverIsAway = false
        self.log.connect(self.number)
        self.phase = .relaying(server)
        // A fault at byte 0 applies without a byte.
        self.relay(server, ProxyReadiness(), now: now)
    }

    // MARK: Relaying

    private func relay(_ server: ProxySocket, _ readiness: ProxyReadiness, now: Duration) {
        var uselessSender: End?
        if readiness.client != 0, self.toServer.wantsInput, self.toServer.receive(from: self.client) {
            if self.toClient.isOver, self.toClient.sourceEnd != nil { uselessSender = .client }
        }
        if readiness.server != 0, self.toClient.wantsInput, self.toClient.receive(from: server) {
            if self.toServer.isOver, self.toServer.sourceEnd != nil { uselessSender = .server }
        }
        if let uselessSender {
            // The other end has closed both ways: its system would answer these bytes with a reset.
            return self.beginReset(server, awaiting: uselessSender, resetsBoth: false, now: now)
        }
        self.deliver(.toServer, server, now: now)
        if self.deliver(.toClient, server, now: now) == .receiverGone { self.deliver(.toServer, server, now: now) }
        self.logTraffic()
        self.closeWhenOver(server)
    }

    @discardableResult
    private func deliver(
        _ direction: FaultProxy.Direction, _ server: ProxySocket, now: Duration
    ) -> ProxyRelay.Outcome {
        guard case .relaying = self.phase else { return .goesOn }
        let sink = direction == .toServer ? server : self.client
        let report = { (action: ConnectionFault, traffic: FaultProxy.Traffic) in
            self.logStrike(action, direction, traffic)
        }
        let outcome =
            direction == .toServer
            ? self.toServer.deliver(to: sink, now: now, report: report)
            : self.toClient.deliver(to: sink, now: now, report: report)
        let receiver: End = direction == .toServer ? .server : .client
        switch outcome {
        case .goesOn: break
        case .reset: self.beginReset(server, awaiting: receiver, resetsBoth: true, now: now)
        case .sourceReset: self.beginReset(server, awaiting: receiver, resetsBoth: false, now: now)
        case .silence: self.phase = .silent(server)
        case .receiverGone:
            if direction == .toServer { self.toClient.sourceWentAway() } else { self.toServer.sourceWentAway() }
        }
        return outcome
    }

    private func closeWhenOver(_ server: ProxySocket) {
        guard case .relaying = self.phase, self.toServer.isOver, self.toClient.isOver,
            self.toServer.sourceEnd != nil, self.toClient.sourceEnd != nil
        else { return }
        server.closeDescriptor()
        self.client.closeDescriptor()
        self.end(.closed)
    }

    // MARK: Resetting

    private func beginReset(_ server: ProxySocket, awaiting end: End, resetsBoth: Bool, now: Duration) {
        self.logTraffic()
        self.reset(Resetting(server: server, awaited: end, resetsBoth: resetsBoth, nextLook: now), now: now)
    }

    private func reset(_ resetting: Resetting, now: Duration) {
        let ends = [self.client, resetting.server]
        let (awaited, other) = resetting.awaited == .client ? (ends[0], ends[1]) : (ends[1], ends[0])
        guard awaited.isAcknowledged else {
            var later = resetting
            later.nextLook = now + Self.acknowledgementInterval
            self.phase = .resetting(later)
            return
        }
        awaited.reset()
        if resetting.resetsBoth { other.reset() } else { other.closeDescriptor() }
        self.end(.reset)
    }

    // MARK: Log

    private func logTraffic() {
        self.log.relay(self.number, .toServer, from: self.logged.toServer, to: self.toServer.traffic)
        self.log.relay(self.number, .toClient, from: self.logged.toClient, to: self.toClient.traffic)
        self.logged = (self.toServer.traffic, self.toClient.traffic)
    }

    private func logStrike(
        _ action: ConnectionFault, _ direction: FaultProxy.Direction, _ traffic: FaultProxy.Traffic
    ) {
        // The relay is active: its own count is reported with the fault.
        switch direction {
        case .toServer:
            self.log.relay(self.number, direction, from: self.logged.toServer, to: traffic)
            self.logged.toServer = traffic
        case .toClient:
            self.log.relay(self.number, direction, from: self.logged.toClient, to: traffic)
            self.logged.toClient = traffic
        }
        let offset = traffic.deliveredByteCount
        self.log.strike(self.number, .init(action: action, direction: direction, byteOffset: offset))
    }
}
