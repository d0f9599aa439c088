import ChappieTransport
import LibwebsocketsTransport
import PathDiagnosis
import PlatformFoundation
import StreamTransport

/// The steps below HTTP.
extension Examination {
    // MARK: Environment

    /// Reads the settings; no socket is opened.
    mutating func examineEnvironment() {
        let start = ContinuousClock.now
        var environment = EnvironmentFacts()
        environment.descriptorLimit = DescriptorLimit.current
        environment.libraries = ChappieLinkedLibraries.versions.map { "\($0.name) \($0.version)" }
        environment.hasTrustFile = self.requests.trustFile != nil
        do throws(TransportFailure) {
            self.proxy = try self.requests.proxy()
            environment.proxyVariable = self.proxy == nil ? nil : self.requests.proxyVariable
            environment.isExcepted = self.proxy == nil && self.requests.proxyVariable != nil
            if self.requests.proxyVariable == nil {
                environment.otherSchemeVariable = self.requests.otherSchemeVariable
            }
        } catch {
            environment.fault = error.environmentFault
        }
        environment.time = self.time(since: start)
        self.facts.environment = environment
    }

    // MARK: Reaching

    /// The host and port that the socket connects to.
    private var dialled: TransportEndpoint {
        var endpoint = self.requests.endpoint
        endpoint.isSecure = false
        endpoint.host = self.proxy?.host ?? endpoint.host
        endpoint.port = self.proxy?.port ?? endpoint.port
        endpoint.target = "/"
        return endpoint
    }

    /// Examines the look-up, TCP, the proxy and TLS; returns whether requests can be sent.
    mutating func examineReaching() async throws -> Bool {
        if let proxy = self.proxy { self.facts.proxy = .found(self.proxyFacts(proxy, tunnel: nil)) }
        guard try await self.examineResolution() else { return false }
        guard try await self.examineConnection() else { return false }
        if let proxy = self.proxy, try await !self.examineTunnel(proxy) { return false }
        return try await self.examineTLS()
    }

    private mutating func examineResolution() async throws -> Bool {
        let host = self.dialled.host
        guard !AddressLookup.isNumeric(host) else {
            self.facts.resolution = .skipped(.numericHost)
            return true
        }
        guard let budget = self.pace.lookUp(withLeft: self.left) else { return false }
        let start = ContinuousClock.now
        let answer = await AddressLookup.addresses(of: host, within: budget)
        try Task.checkCancellation()
        let time = self.time(since: start)
        switch answer {
        case .success(let addresses)?:
            self.facts.resolution = .found(.init(addresses: addresses), time)
            return true
        case .failure(let failure)?:
            if !self.noteEnvironment(failure) {
                self.facts.resolution = .found(.init(failure: failure.resolution), time)
            }
        case nil: self.facts.resolution = .found(.init(failure: .timedOut), time)
        }
        return false
    }

    private mutating func examineConnection() async throws -> Bool {
        guard let budget = self.budget else {
            self.facts.connection = .skipped(.noTime)
            return false
        }
        let start = ContinuousClock.now
        let addresses = self.facts.resolution.facts?.addresses ?? []
        let (dialled, direct) = (self.dialled, self.requests.transport(through: nil))
        let version6 = addresses.first { $0.utf8.contains(UInt8(ascii: ":")) }
        let version4 = addresses.first { !$0.utf8.contains(UInt8(ascii: ":")) }
        let hasBoth = version6 != nil && version4 != nil
        async let alone6 = Self.reach(hasBoth ? version6 : nil, of: dialled, by: direct, within: budget)
        async let alone4 = Self.reach(hasBoth ? version4 : nil, of: dialled, by: direct, within: budget)
        let raced = try await ProbeExchange.establish(dialled, by: direct, within: budget)
        let alone = (version4: try await alone4, version6: try await alone6)
        if case .failed(let failure) = raced, self.noteEnvironment(failure) { return false }
        let facts = ConnectionFacts(raced: raced.reach, version4: alone.version4, version6: alone.version6)
        self.facts.connection = .found(facts, self.time(since: start))
        if case .established = raced { return true }
        return false
    }

    /// Connects to one address alone; nil without one.
    private static func reach(
        _ address: String?, of endpoint: TransportEndpoint, by transport: LibwebsocketsTransport,
        within duration: Duration
    ) async throws -> Reach? {
        guard let address else { return nil }
        var endpoint = endpoint
        endpoint.host = address
        return try await ProbeExchange.establish(endpoint, by: transport, within: duration).reach
    }

    // MARK: The proxy

    private func proxyFacts(
        _ proxy: ProxyServer, tunnel: ProxyFacts.Tunnel?, isNeedless: Bool? = nil
    ) -> ProxyFacts {
        ProxyFacts(scheme: proxy.scheme.rawValue, address: proxy.description, tunnel: tunnel, isNeedless: isNeedless)
    }

    /// Asks the proxy for a tunnel to the server's port, without TLS inside of it.
    private mutating func examineTunnel(_ proxy: ProxyServer) async throws -> Bool {
        guard let budget = self.budget else {
            self.facts.proxy = .skipped(.noTime)
            return false
        }
        let start = ContinuousClock.now
        var endpoint = self.requests.endpoint
        endpoint.isSecure = false
        let transport = self.requests.transport(through: proxy)
        let outcome = try await ProbeExchange.establish(endpoint, by: transport, within: budget)
        let time = self.time(since: start)
        guard case .failed(let failure) = outcome else {
            self.facts.proxy = .found(self.proxyFacts(proxy, tunnel: .established), time)
            return true
        }
        if self.noteEnvironment(failure) { return false }
        var tunnel = failure.tunnel(hasLogin: proxy.credential != nil)
        if tunnel.mayBeOfOtherScheme, try await self.speaksHTTP(proxy, for: endpoint) { tunnel = .speaksHTTP }
        let isNeedless = try await self.isReachedDirectly(endpoint)
        self.facts.proxy = .found(self.proxyFacts(proxy, tunnel: tunnel, isNeedless: isNeedless), time)
        return false
    }

    /// Returns whether a proxy whose URL has another scheme answers CONNECT, without its login.
    private func speaksHTTP(_ proxy: ProxyServer, for endpoint: TransportEndpoint) async throws -> Bool {
        guard proxy.scheme != .http, let budget = self.budget else { return false }
        let plain = ProxyServer(host: proxy.host, port: proxy.port)
        let outcome = try await ProbeExchange.establish(
            endpoint, by: self.requests.transport(through: plain), within: min(budget, ExaminationPace.otherScheme))
        return switch outcome {
        case .established: true
        case .failed(let failure): if case .proxyRefused = failure.cause { true } else { false }
        }
    }

    /// Tries TCP without a proxy that may be the cause of a fault behind its tunnel.
    mutating func examineWithoutProxy() async throws {
        guard PathJudge(self.facts).mayBeOfProxy, case .found(var proxy, let time) = self.facts.proxy else { return }
        var endpoint = self.requests.endpoint
        endpoint.isSecure = false
        proxy.isNeedless = try await self.isReachedDirectly(endpoint)
        self.facts.proxy = .found(proxy, time)
    }

    /// Returns whether TCP with the server works without the proxy; nil when no time is left to try.
    private func isReachedDirectly(_ endpoint: TransportEndpoint) async throws -> Bool? {
        guard let budget = self.budget else { return nil }
        let direct = self.requests.transport(through: nil)
        let outcome = try await ProbeExchange.establish(endpoint, by: direct, within: budget)
        return if case .established = outcome { true } else { false }
    }

    // MARK: TLS

    private mutating func examineTLS() async throws -> Bool {
        guard self.requests.endpoint.isSecure else {
            self.facts.tls = .skipped(.noTLS)
            return true
        }
        guard let budget = self.budget else {
            self.facts.tls = .skipped(.noTime)
            return false
        }
        let start = ContinuousClock.now
        let observed = LockedValue<TLSOutcome?>(nil)
        let outcome = try await ProbeExchange.establish(
            self.requests.endpoint, by: self.transport, within: budget
        ) { made in observed.withLock { $0 = made } }
        let time = self.time(since: start)
        let made = observed.withLock { $0 }
        guard case .failed(let failure) = outcome else {
            self.facts.tls = .found(TLSFacts(made), time)
            return true
        }
        if self.noteEnvironment(failure) { return false }
        let facts = TLSFacts(made, failure)
        self.facts.tls = .found(facts, time)
        // OpenSSL skips a file that it cannot read, and trusts no authority then.
        if case .certificate(.unknownIssuer, _) = facts.handshake, let file = self.requests.trustFile,
            !FileManager.default.isReadableFile(atPath: file)
        {
            self.facts.environment.fault = .trustAnchors
            // The server's certificate was not judged.
            self.facts.tls = .skipped(.notReached)
        }
        return false
    }
}

extension ProbeExchange.Establishment {
    /// The outcome as a fact.
    fileprivate var reach: Reach {
        switch self {
        case .established(let time): .connected(time)
        case .failed(let failure): failure.reach
        }
    }
}

extension TLSFacts {
    /// Creates the facts of a handshake that has succeeded.
    fileprivate init(_ outcome: TLSOutcome?) {
        guard case .secured(let session)? = outcome else {
            self.init(.established(version: "TLS", protocol: nil, issuer: nil))
            return
        }
        self.init(
            .established(version: session.version, protocol: session.applicationProtocol, issuer: session.issuer),
            chain: CertificateChain(session.certificates.map { .init($0) }))
    }

    /// Creates the facts of a handshake that has failed.
    fileprivate init(_ outcome: TLSOutcome?, _ failure: TransportFailure) {
        switch outcome {
        case .rejected(let rejection)?:
            let sent = rejection.certificates.map { CertificateChain.Certificate($0) }
            self.init(failure.handshake, chain: CertificateChain(sent, rejectedDepth: rejection.depth))
        case .answeredInHTTP?: self.init(.answeredInHTTP)
        case .notTLS?: self.init(.notTLS)
        case .alerted(let alert, isByServer: false)? where Self.alertsToOtherBytes.contains(alert): self.init(.notTLS)
        case .closed?: self.init(.closed)
        case .reset?: self.init(.reset)
        case .alerted?, .secured?, nil: self.init(failure.handshake)
        }
    }

    /// The alerts that this side sends to bytes that are not TLS, or not as its rules say (RFC 8446 section 6.2):
    /// unexpected_message, bad_record_mac, record_overflow and decode_error.
    private static let alertsToOtherBytes: Set<UInt8> = [10, 20, 22, 50]
}

extension CertificateChain.Certificate {
    fileprivate init(_ certificate: TLSCertificate) {
        self.init(
            subject: certificate.subject, issuer: certificate.issuer, timeLeft: certificate.timeLeft,
            locatesIssuer: certificate.locatesIssuer)
    }
}
