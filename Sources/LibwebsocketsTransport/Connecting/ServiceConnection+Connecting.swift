import CLibwebsocketsShim
import StreamTransport

/// The sockets of a connection whose addresses race, until one has connected.
///
/// It belongs to the service thread.
struct ConnectionContest {
    /// A socket, and its place in the race.
    struct Contestant {
        let attempt: Int
        let socket: Socket
    }

    var race: AddressRace
    var contestants: [Contestant] = []
    /// When the next address is tried.
    var deadline: ContinuousClock.Instant?
}

/// From the name of a host to one socket that has connected.
extension ServiceConnection {
    // MARK: Looking up

    /// Begins with the look-up, or with the connection when the host is an address.
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

    /// Lets the addresses race.
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
            self.contest = ConnectionContest(race: AddressRace(addresses: addresses))
            self.attemptDelayPassed()
        }
    }

    // MARK: Racing

    /// Tries the next address, beside those that are being tried.
    func attemptDelayPassed() {
        self.contest?.deadline = nil
        guard let action = self.contest?.race.delayPassed() else { return }
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

    /// Starts a socket; what is next when that fails at once.
    private func start(_ attempt: Int, at address: String) -> AddressRace.Action {
        do throws(SocketFailure) {
            let socket = try self.service.open(for: self, to: address, port: self.dialled.port)
            self.contest?.contestants.append(ConnectionContest.Contestant(attempt: attempt, socket: socket))
        } catch {
            return self.contest?.race.failed(attempt: attempt, error.cause) ?? .ignore
        }
        let hasNext = self.contest?.race.hasNext ?? false
        self.contest?.deadline = hasNext ? .now + AddressRace.attemptDelay : nil
        return .wait
    }

    /// A socket that races has connected, or has failed.
    func contestantReady(_ token: SocketToken) {
        guard let index = self.contest?.contestants.firstIndex(where: { $0.socket.token == token }),
            let contestant = self.contest?.contestants.remove(at: index)
        else { return }
        let code = clws_socket_error(contestant.socket.descriptor)
        guard code == 0 else {
            self.service.close(contestant.socket)
            if let action = self.contest?.race.failed(attempt: contestant.attempt, .unreachable(code: code)) {
                self.perform(action)
            }
            return
        }
        guard case .win = self.contest?.race.connected(attempt: contestant.attempt) else { return }
        // Every other socket is closed, on none of which anything was sent.
        self.stopConnecting()
        self.adopt(contestant.socket)
    }

    /// Gives up whatever is being looked up or tried.
    func stopConnecting() {
        if let ticket = self.lookUp.take() { self.service.resolver.cancel(ticket) }
        guard let contest = self.contest.take() else { return }
        for contestant in contest.contestants { self.service.close(contestant.socket) }
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
