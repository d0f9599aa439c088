import PathDiagnosis

extension PathFacts {
    /// A direct path with TLS and a credential on which everything works, with an ordinary API at its end.
    static let healthy: Self = {
        var facts = Self()
        facts.resolution = .found(.init(addresses: ["192.0.2.1", "2001:db8::1"]))
        facts.connection = .found(
            .init(
                raced: .connected(.milliseconds(12)), version4: .connected(.milliseconds(13)),
                version6: .connected(.milliseconds(12))))
        facts.tls = .found(
            .init(.established(version: "TLSv1.3", protocol: "http/1.1", issuer: "CN=R3,O=Let's Encrypt,C=US")))
        facts.http = .found(.init(.answered(.init(statusCode: 401))))
        facts.credential = .found(.init(statusCode: 200))
        facts.upgrade = .found(.init(.established, isCompressed: true))
        facts.earlyClose = .found(.init())
        facts.pings = .found(.init(sentCount: 10, roundTrips: Array(repeating: .milliseconds(20), count: 10)))
        facts.messages = .skipped(.needsProbe)
        facts.eventStream = .skipped(.needsProbe)
        return facts
    }()

    /// The same with a probe server at its end.
    static let probed: Self = healthy.with {
        $0.http = .found(.init(.answered(.init(statusCode: 200))))
        $0.credential = .skipped(.noCredential)
        $0.messages = .found(
            .init([
                .init(byteCount: 63 << 10, echo: .returned(.milliseconds(30))),
                .init(byteCount: 1 << 20, echo: .returned(.milliseconds(200))),
            ]))
        $0.eventStream = .found(.paced { $0 })
    }

    /// A path whose proxy has opened the tunnel.
    static let proxied: Self = healthy.with {
        $0.environment.proxyVariable = "HTTPS_PROXY"
        $0.connection = .found(.init(raced: .connected(.milliseconds(1)), version4: .connected(.milliseconds(1))))
        $0.proxy = .found(.init(scheme: "http", address: "proxy.example:3128", tunnel: .established))
    }

    /// Returns the facts with changes.
    func with(_ change: (inout Self) -> Void) -> Self {
        var facts = self
        change(&facts)
        return facts
    }

    /// Returns the facts of an examination that came as far as TCP.
    func withoutConnection(_ raced: Reach) -> Self {
        self.with {
            $0.connection = .found(.init(raced: raced))
            $0.cut()
        }
    }

    /// Skips everything above TCP and the proxy.
    mutating func cut() {
        self.tls = .skipped(.notReached)
        self.cutAboveTLS()
    }

    /// Skips everything above TLS.
    mutating func cutAboveTLS() {
        self.http = .skipped(.notReached)
        self.cutAboveHTTP()
    }

    /// Skips everything above HTTP.
    mutating func cutAboveHTTP() {
        self.credential = .skipped(.notReached)
        self.upgrade = .skipped(.notReached)
        self.cutAboveUpgrade()
    }

    /// Skips everything that needs a WebSocket.
    mutating func cutAboveUpgrade() {
        self.earlyClose = .skipped(.notReached)
        self.messages = .skipped(.notReached)
        self.pings = .skipped(.notReached)
    }

    /// Returns a path whose TLS handshake ends in this way.
    static func tls(_ handshake: TLSFacts.Handshake, chain: CertificateChain? = nil) -> Self {
        healthy.with {
            $0.tls = .found(.init(handshake, chain: chain))
            $0.cutAboveTLS()
        }
    }

    /// Returns a path whose proxy answers in this way.
    static func proxy(_ tunnel: ProxyFacts.Tunnel, isNeedless: Bool = false) -> Self {
        proxied.with {
            $0.proxy = .found(.init(address: "proxy.example:3128", tunnel: tunnel, isNeedless: isNeedless))
            $0.cut()
        }
    }

    /// Returns a path on which this answers a GET.
    static func http(_ exchange: HTTPFacts.Exchange) -> Self {
        healthy.with {
            $0.http = .found(.init(exchange))
            $0.cutAboveHTTP()
        }
    }

    /// Returns a path on which an opening handshake ends in this way.
    static func upgrade(_ handshake: UpgradeFacts.Handshake) -> Self {
        healthy.with {
            $0.upgrade = .found(.init(handshake))
            $0.cutAboveUpgrade()
        }
    }
}

extension EventStreamFacts {
    /// Twenty events at 100 ms each, whose times of arrival `path` changes.
    static func paced(_ path: (Duration) -> Duration) -> Self {
        let arrivals = (0..<20).map { index in
            let sent = Duration.milliseconds(100 * index)
            return Arrival(sent: sent, received: path(sent) + .milliseconds(40), byteCount: 250 * (index + 1))
        }
        return Self(head: .milliseconds(30), arrivals: arrivals, end: .complete)
    }
}

extension CertificateChain.Certificate {
    /// The certificate of a server by an intermediate authority.
    static let ofServer = Self(
        subject: "CN=inner.example", issuer: "CN=Example Intermediate", timeLeft: .seconds(29 * 86_400),
        locatesIssuer: true)
    /// The certificate of the intermediate authority.
    static let intermediate = Self(
        subject: "CN=Example Intermediate", issuer: "CN=Example Root", timeLeft: .seconds(900 * 86_400),
        locatesIssuer: true)
}
