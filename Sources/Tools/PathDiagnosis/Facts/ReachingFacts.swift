// The facts of the steps below HTTP. Values without an owner.

/// The facts of the process and its settings.
package struct EnvironmentFacts: Sendable, Equatable {
    /// A fault that prevents connections, whatever the state of the network.
    package enum Fault: Sendable, Equatable {
        /// The process has no file descriptor left; the number that it may have.
        case descriptors(limit: Int)
        /// The system opens no socket, or starts no thread.
        case resources
        /// The trust anchors cannot be read.
        case trustAnchors
        /// The client's certificate or its key cannot be read.
        case clientCertificate
        /// The proxy's URL cannot be used; the fault, without the URL.
        case proxyURL(String)
    }

    /// The fault that was met; nil for none.
    package var fault: Fault?
    /// The name of the variable that names the proxy; nil without a proxy, or with one of the configuration.
    package var proxyVariable: String?
    /// Indicates whether `NO_PROXY` excepts the server.
    package var isExcepted = false
    /// The name of a variable that names a proxy for the other scheme only; nil for none.
    package var otherSchemeVariable: String?
    /// Indicates whether the trust anchors are those of a file: `SSL_CERT_FILE`, or the configuration's.
    package var hasTrustFile = false
    /// The number of file descriptors that the process may have; nil where it is not known.
    package var descriptorLimit: Int?
    /// The lead of this machine's clock over the server's `Date` (RFC 9110 section 6.6.1); nil without one.
    package var clockLead: Duration?
    /// The names and versions of the libraries.
    package var libraries: [String] = []
    /// The time of the step.
    package var time = StepTime()

    /// Creates facts without a fault.
    package init() {}

    /// Returns the lead of this machine's clock over an answer's time, in seconds since 1970; nil for an age that
    /// cannot be read.
    ///
    /// The time of an answer from a cache is its `Date` and its `Age` (RFC 9111 section 5.1).
    package static func clockLead(at now: Int, date: Int, age: String?) -> Duration? {
        guard let age else { return .seconds(now - date) }
        guard let seconds = UInt32(age) else { return nil }
        return .seconds(now - date - Int(seconds))
    }
}

/// The facts of a look-up.
package struct ResolutionFacts: Sendable, Equatable {
    /// The reason for which there is no address.
    package enum Failure: Sendable, Equatable {
        /// The name does not exist, or has no address.
        case unknownName
        /// The resolver reports that no name server has answered.
        case noAnswer
        /// The step's time was over.
        case timedOut
        /// Another failure.
        case other
    }

    /// The addresses, in the system's order of preference.
    package var addresses: [String]
    /// The reason for which there is no address; nil for a success.
    package var failure: Failure?

    /// Creates facts.
    package init(addresses: [String] = [], failure: Failure? = nil) {
        self.addresses = addresses
        self.failure = failure
    }

    /// The number of IPv6 addresses.
    var version6Count: Int { self.addresses.count { $0.utf8.contains(UInt8(ascii: ":")) } }
    /// The number of IPv4 addresses.
    var version4Count: Int { self.addresses.count - self.version6Count }
    /// Indicates whether every address is the unspecified one, with which resolvers block a name.
    var isBlocked: Bool { !self.addresses.isEmpty && self.addresses.allSatisfy { $0 == "0.0.0.0" || $0 == "::" } }
}

/// The outcome of a TCP connection attempt.
package enum Reach: Sendable, Equatable {
    /// The connection was established, after this time.
    case connected(Duration)
    /// The peer refused it.
    case refused
    /// The system has no route, such as to a family that the machine does not have.
    case noRoute
    /// The system forbids it: a firewall or a sandbox.
    case forbidden
    /// No answer came in the step's time.
    case timedOut
    /// Another error.
    case failed

    /// Indicates whether the connection was established.
    var isConnected: Bool {
        if case .connected = self { true } else { false }
    }
}

/// The facts of TCP with a host.
package struct ConnectionFacts: Sendable, Equatable {
    /// The race between all addresses.
    package var raced: Reach
    /// The first IPv4 address alone; nil without one, or when the other family was not there to compare.
    package var version4: Reach?
    /// The first IPv6 address alone; nil as above.
    package var version6: Reach?

    /// Creates facts.
    package init(raced: Reach, version4: Reach? = nil, version6: Reach? = nil) {
        self.raced = raced
        self.version4 = version4
        self.version6 = version6
    }
}

/// The facts of a proxy.
package struct ProxyFacts: Sendable, Equatable {
    /// The outcome of the request for a tunnel.
    package enum Tunnel: Sendable, Equatable {
        /// The tunnel was established.
        case established
        /// The proxy demands a login, and its URL has none.
        case loginMissing
        /// The proxy refuses the login.
        case loginRefused
        /// The proxy refuses the tunnel; the status code, or the code of a SOCKS reply.
        case refused(code: Int)
        /// The peer does not speak the proxy's protocol.
        case otherProtocol
        /// The peer is silent or cuts the connection, and answers CONNECT without TLS, which its URL's scheme is not
        /// for.
        case speaksHTTP
        /// The proxy's certificate is not accepted.
        case certificate(CertificateFault, issuer: String?)
        /// The server's name, which this machine looks up for this scheme, has no address.
        case serverUnresolved
        /// TLS with the proxy failed otherwise.
        case tls
        /// No answer came in the step's time.
        case timedOut
        /// The connection was cut.
        case cut

        /// Indicates whether a proxy for another scheme may be the cause: it takes the greeting for the beginning of
        /// something else.
        package var mayBeOfOtherScheme: Bool { self == .timedOut || self == .cut }
    }

    /// The scheme of its URL.
    package var scheme: String
    /// Its host and port.
    package var address: String
    /// The outcome; nil when it could not be asked.
    package var tunnel: Tunnel?
    /// Indicates whether TCP with the server works without the proxy; nil when that was not tried.
    package var isNeedless: Bool?

    /// Creates facts.
    package init(scheme: String = "http", address: String = "", tunnel: Tunnel?, isNeedless: Bool? = nil) {
        self.scheme = scheme
        self.address = address
        self.tunnel = tunnel
        self.isNeedless = isNeedless
    }
}

/// The fault of a certificate.
package enum CertificateFault: Sendable, Equatable {
    /// It has expired.
    case expired
    /// It is not valid yet.
    case notYetValid
    /// Its issuer is not known, or it is signed by itself.
    case unknownIssuer
    /// It is for another host.
    case wrongHost
    /// Another fault, such as a weak key or a missing pinned key.
    case other
}

/// The facts of TLS with the server.
package struct TLSFacts: Sendable, Equatable {
    /// The outcome of the handshake.
    package enum Handshake: Sendable, Equatable {
        /// It succeeded.
        case established(version: String, protocol: String?, issuer: String?)
        /// The server's certificate is not accepted.
        case certificate(CertificateFault, issuer: String?)
        /// The handshake ended with this alert (RFC 8446 section 6).
        case alert(UInt8)
        /// The server has answered with an HTTP response.
        case answeredInHTTP
        /// The server has answered with other bytes than those of TLS.
        case notTLS
        /// The server has closed the connection, without an alert.
        case closed
        /// The connection was reset.
        case reset
        /// The connection was cut, and it is not known how.
        case cut
        /// No answer came in the step's time.
        case timedOut
    }

    /// The outcome.
    package var handshake: Handshake
    /// The certificates; nil when the server has sent none.
    package var chain: CertificateChain?

    /// Creates facts.
    package init(_ handshake: Handshake, chain: CertificateChain? = nil) {
        self.handshake = handshake
        self.chain = chain
    }
}
