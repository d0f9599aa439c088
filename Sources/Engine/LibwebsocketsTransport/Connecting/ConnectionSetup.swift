import CLibwebsocketsShim
import StreamTransport

/// The steps of an exchange from the name of a host to one connected socket: the look-up, and the concurrent connection
/// attempts (RFC 8305).
///
/// It belongs to the service thread.
struct ConnectionSetup {
    /// The exchange's task after one step.
    enum Step {
        /// Wait for an answer, a socket or the deadline.
        case wait
        /// Begin to connect: the addresses are known.
        case race
        /// Continue with this socket, the only one that is open.
        case connected(Socket)
        /// Give up.
        case failed(TransportFailure)
    }

    /// A connection attempt: its socket, and its number in the race.
    private struct Attempt {
        let number: Int
        let socket: Socket
    }

    /// The server's address, for a proxy that is not given its name; nil before the look-up.
    private(set) var serverAddress: String?
    /// The ticket of the pending look-up.
    private var ticket: LookupQueue.Ticket?
    /// The race between the addresses, until one has connected.
    private var race: AddressRace?
    private var attempts: [Attempt] = []
    /// The time at which the next address is tried.
    private(set) var deadline: Moment?

    // MARK: Looking up

    /// Begins with the look-up, or with the connection attempt when the host is an address.
    mutating func start(_ plan: ConnectionPlan, on service: Service) -> Step {
        self.lookUp(self.needsServerAddress(plan) ? plan.request.endpoint.host : plan.dialled.host, plan, service)
    }

    /// Returns whether the server's name is to be looked up before the proxy's.
    private func needsServerAddress(_ plan: ConnectionPlan) -> Bool {
        plan.proxy?.resolvesNames == false && self.serverAddress == nil
    }

    private mutating func lookUp(_ host: String, _ plan: ConnectionPlan, _ service: Service) -> Step {
        if Resolver.isNumeric(host) { return self.resolved(.success([host]), plan, on: service) }
        let id = plan.id
        switch service.resolver.resolve(host, deliver: { service.post(.resolved(id, $0)) }) {
        case .answered(let answer): return self.resolved(answer, plan, on: service)
        case .pending(let ticket):
            self.ticket = ticket
            return .wait
        }
    }

    /// Handles the answer of a look-up.
    mutating func resolved(_ answer: Resolver.Answer, _ plan: ConnectionPlan, on service: Service) -> Step {
        self.ticket = nil
        switch answer {
        case .failure(let failure) where self.needsServerAddress(plan):
            return .failed(TransportFailure(phase: .resolve, cause: failure.cause))
        case .success(let addresses) where self.needsServerAddress(plan):
            self.serverAddress = addresses.first
            return self.lookUp(plan.dialled.host, plan, service)
        case .failure(let failure):
            return .failed(TransportFailure(phase: plan.proxy == nil ? .resolve : .proxy, cause: failure.cause))
        case .success(let addresses):
            self.race = AddressRace(addresses: addresses)
            return .race
        }
    }

    // MARK: Racing

    /// Tries the next address, concurrently with the attempts that are in progress.
    mutating func attemptDelayPassed(for connection: ServiceConnection) -> Step {
        self.deadline = nil
        guard let action = self.race?.delayPassed() else { return .wait }
        return self.perform(action, for: connection)
    }

    private mutating func perform(_ first: AddressRace.Action, for connection: ServiceConnection) -> Step {
        var action = first
        while case .start(let number, let address) = action {
            action = self.start(number, at: address, for: connection)
        }
        switch action {
        case .lose(let cause):
            let plan = connection.plan
            if case .unreachable = cause { connection.service.resolver.forget(plan.dialled.host) }
            return .failed(TransportFailure(phase: plan.proxy == nil ? .connect : .proxy, cause: cause))
        case .start, .wait, .win, .ignore:
            return .wait
        }
    }

    /// Starts a connection attempt; returns the next action when it fails at once.
    private mutating func start(
        _ number: Int, at address: String, for connection: ServiceConnection
    ) -> AddressRace.Action {
        do throws(SocketFailure) {
            let port = connection.plan.dialled.port
            let socket = try connection.service.open(for: connection, to: address, port: port)
            self.attempts.append(Attempt(number: number, socket: socket))
        } catch {
            return self.race?.failed(attempt: number, error.cause) ?? .ignore
        }
        let hasNext = self.race?.hasNext ?? false
        self.deadline = hasNext ? .now + AddressRace.attemptDelay : nil
        return .wait
    }

    /// Handles an attempt's socket that has connected or failed.
    mutating func socketReady(_ token: SocketToken, for connection: ServiceConnection) -> Step {
        guard let index = self.attempts.firstIndex(where: { $0.socket.token == token }) else { return .wait }
        let attempt = self.attempts.remove(at: index)
        let code = clws_socket_error(attempt.socket.descriptor)
        guard code == 0 else {
            connection.service.close(attempt.socket)
            guard let action = self.race?.failed(attempt: attempt.number, .unreachable(code: code)) else {
                return .wait
            }
            return self.perform(action, for: connection)
        }
        guard case .win = self.race?.connected(attempt: attempt.number) else { return .wait }
        // Every other socket is closed; no byte was sent on any of them.
        self.stop(on: connection.service)
        return .connected(attempt.socket)
    }

    /// Cancels the look-up and the connection attempts.
    mutating func stop(on service: Service) {
        if let ticket = self.ticket.take() { service.resolver.cancel(ticket) }
        self.race = nil
        self.deadline = nil
        for attempt in self.attempts.take() { service.close(attempt.socket) }
    }

    // MARK: Layers

    /// Returns the layers between the socket and the request: none, or the proxy's and TLS.
    func layers(_ plan: ConnectionPlan, on service: Service) throws(TransportFailure) -> [LayerStack.Plan] {
        let route = try plan.route.get()
        let endpoint = plan.request.endpoint
        var plans: [LayerStack.Plan] = []
        if let proxy = route.proxy {
            if let tls = route.proxyTLS {
                let context = try service.tlsContext(for: tls)
                plans.append(.tls(context: context, host: proxy.host, port: proxy.port, isProxy: true))
            }
            var asked = endpoint
            asked.host = self.serverAddress ?? endpoint.host
            plans.append(.greeting(try ProxyGreeting(for: asked, through: proxy)))
        }
        if let tls = route.tls {
            let context = try service.tlsContext(for: tls)
            plans.append(.tls(context: context, host: endpoint.host, port: endpoint.port, isProxy: false))
        }
        return plans
    }
}

extension ConnectionPlan {
    /// The proxy of the route.
    var proxy: ProxyServer? { try? self.route.get().proxy }

    /// The host and port that the socket connects to.
    var dialled: (host: String, port: UInt16) {
        let endpoint = self.request.endpoint
        return (self.proxy?.host ?? endpoint.host, self.proxy?.port ?? endpoint.port)
    }
}
