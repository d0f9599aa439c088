import CLibwebsocketsShim
import StreamTransport

/// The concurrent connection attempts of an exchange (RFC 8305), until one has connected.
///
/// It belongs to the service thread.
struct ConnectionAttempts {
    /// A connection attempt: its socket, and its number in the race.
    struct Attempt {
        let number: Int
        let socket: Socket
    }

    var race: AddressRace
    var pending: [Attempt] = []
    /// The time at which the next address is tried.
    var deadline: Moment?
}

/// The steps from the name of a host to one connected socket.
extension ServiceConnection {
    // MARK: Looking up

    /// Begins with the look-up, or with the connection attempt when the host is an address.
    func start() {
        if let fault = RequestFields.fault(in: self.plan.request) {
            return self.finish(.failed(TransportFailure(phase: .send, cause: .invalidRequest(fault))))
        }
        do throws(TransportFailure) {
            // A policy that cannot be used is reported before any look-up.
            _ = try self.layers()
        } catch {
            return self.finish(.failed(error))
        }
        self.lookUp(self.needsServerAddress ? self.plan.request.endpoint.host : self.dialled.host)
    }

    /// Indicates whether the server's name is to be looked up before the proxy's.
    private var needsServerAddress: Bool { self.proxy?.resolvesNames == false && self.serverAddress == nil }

    private func lookUp(_ host: String) {
        if Resolver.isNumeric(host) { return self.resolved(.success([host])) }
        let id = self.plan.id
        let service = self.service
        switch service.resolver.resolve(host, deliver: { service.post(.resolved(id, $0)) }) {
        case .answered(let answer): self.resolved(answer)
        case .pending(let ticket): self.lookUp = ticket
        }
    }

    /// Starts the race between the addresses of an answer.
    func resolved(_ answer: Resolver.Answer) {
        guard case .resolving = self.phase else { return }
        self.lookUp = nil
        switch answer {
        case .failure(let failure) where self.needsServerAddress:
            self.finish(.failed(TransportFailure(phase: .resolve, cause: failure.cause)))
        case .success(let addresses) where self.needsServerAddress:
            self.serverAddress = addresses.first
            self.lookUp(self.dialled.host)
        case .failure(let failure):
            self.finish(.failed(TransportFailure(phase: self.phaseOfConnecting(.resolve), cause: failure.cause)))
        case .success(let addresses):
            self.noteProgress(\.resolved)
            self.phase = .connecting
            self.attempts = ConnectionAttempts(race: AddressRace(addresses: addresses))
            self.attemptDelayPassed()
        }
    }

    // MARK: Racing

    /// Tries the next address, concurrently with the attempts that are in progress.
    func attemptDelayPassed() {
        self.attempts?.deadline = nil
        guard let action = self.attempts?.race.delayPassed() else { return }
        self.perform(action)
    }

    private func perform(_ first: AddressRace.Action) {
        var action = first
        while case .start(let attempt, let address) = action { action = self.start(attempt, at: address) }
        switch action {
        case .lose(let cause):
            if case .unreachable = cause { self.service.resolver.forget(self.dialled.host) }
            self.finish(.failed(TransportFailure(phase: self.phaseOfConnecting(.connect), cause: cause)))
        case .start, .wait, .win, .ignore:
            break
        }
    }

    /// Starts a connection attempt; returns the next action when it fails at once.
    private func start(_ attempt: Int, at address: String) -> AddressRace.Action {
        do throws(SocketFailure) {
            let socket = try self.service.open(for: self, to: address, port: self.dialled.port)
            self.attempts?.pending.append(ConnectionAttempts.Attempt(number: attempt, socket: socket))
        } catch {
            return self.attempts?.race.failed(attempt: attempt, error.cause) ?? .ignore
        }
        let hasNext = self.attempts?.race.hasNext ?? false
        self.attempts?.deadline = hasNext ? .now + AddressRace.attemptDelay : nil
        return .wait
    }

    /// Handles an attempt's socket that has connected or failed.
    func attemptReady(_ token: SocketToken) {
        guard let index = self.attempts?.pending.firstIndex(where: { $0.socket.token == token }),
            let attempt = self.attempts?.pending.remove(at: index)
        else { return }
        let code = clws_socket_error(attempt.socket.descriptor)
        guard code == 0 else {
            self.service.close(attempt.socket)
            if let action = self.attempts?.race.failed(attempt: attempt.number, .unreachable(code: code)) {
                self.perform(action)
            }
            return
        }
        guard case .win = self.attempts?.race.connected(attempt: attempt.number) else { return }
        // Every other socket is closed; no byte was sent on any of them.
        self.stopConnecting()
        self.adopt(attempt.socket)
    }

    /// Cancels the look-up and the connection attempts.
    func stopConnecting() {
        if let ticket = self.lookUp.take() { self.service.resolver.cancel(ticket) }
        guard let attempts = self.attempts.take() else { return }
        for attempt in attempts.pending { self.service.close(attempt.socket) }
    }

    // MARK: Layers

    /// The layers between the socket and the request: none, or the proxy's and TLS.
    func layers() throws(TransportFailure) -> [LayerStack.Plan] {
        let way = try self.plan.way.get()
        let endpoint = self.plan.request.endpoint
        var plans: [LayerStack.Plan] = []
        if let proxy = way.proxy {
            if let tls = way.proxyTLS {
                let route = try self.service.route(for: tls)
                plans.append(.tls(route: route, host: proxy.host, port: proxy.port, isProxy: true))
            }
            var asked = endpoint
            asked.host = self.serverAddress ?? endpoint.host
            plans.append(.greeting(try ProxyGreeting(for: asked, through: proxy)))
        }
        if let tls = way.tls {
            let route = try self.service.route(for: tls)
            plans.append(.tls(route: route, host: endpoint.host, port: endpoint.port, isProxy: false))
        }
        return plans
    }
}
