import StreamTransport

/// Asks a SOCKS 5 proxy for a connection to an endpoint, and reads its answers (RFC 1928, RFC 1929).
///
/// Pure: bytes in, an outcome and bytes out. The proxy receives the endpoint's name and looks it up. Only the code of a
/// reply is used: the address in it is that of the proxy's socket.
struct SOCKSHandshake {
    private enum State {
        // RFC 1928 section 3: VER, METHOD.
        case methodVersion
        case method
        // RFC 1929 section 2: VER, STATUS.
        case statusVersion
        case status
        // RFC 1928 section 6: VER, REP, RSV, ATYP, BND.ADDR, BND.PORT.
        case replyVersion
        case replyCode
        case reserved
        case addressType
        case nameByteCount
        /// The remaining bytes of the address and the port, at least one.
        case addressAndPort(byteCount: Int)
    }

    private var state = State.methodVersion
    private var bytesToSend: [UInt8]
    private let credential: ProxyServer.Credential?
    private let request: [UInt8]
    /// The fault of a name or a login that SOCKS cannot carry; no byte of either is sent.
    private let fault: TransportFailure.Cause?

    /// Creates a handshake of which no byte has been sent.
    init(for endpoint: TransportEndpoint, credential: ProxyServer.Credential?) {
        self.credential = credential
        self.request = Self.request(for: endpoint)
        self.fault = Self.fault(in: endpoint, credential)
        // With a credential the proxy may still choose to require no authentication.
        let methods = credential == nil ? [Method.none] : [Method.none, Method.userNameAndPassword]
        self.bytesToSend = [Self.version, UInt8(methods.count)] + methods
    }

    /// Takes the bytes to send, in order; empty when there are none.
    mutating func takeBytesToSend() -> [UInt8] {
        defer { self.bytesToSend = [] }
        return self.bytesToSend
    }

    /// Reads what the proxy sent next, from `position` on, and moves `position` past what belongs to the proxy.
    ///
    /// No bytes may be received after an outcome other than `incomplete`.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> ProxyGreeting.Outcome {
        var outcome = ProxyGreeting.Outcome.incomplete
        while outcome == .incomplete, position < bytes.count {
            outcome = self.receive(bytes[position])
            position += 1
        }
        return outcome
    }

    // MARK: Reading

    private mutating func receive(_ byte: UInt8) -> ProxyGreeting.Outcome {
        switch self.state {
        case .methodVersion: return self.expect(Self.version, byte, then: .method)
        case .method: return self.methodChosen(byte)
        case .statusVersion: return self.expect(Self.authenticationVersion, byte, then: .status)
        case .status:
            guard byte == 0 else { return .failed(.socksAuthenticationRefused(.credentialRefused)) }
            return self.connect()
        case .replyVersion: return self.expect(Self.version, byte, then: .replyCode)
        case .replyCode:
            // A proxy that refuses may close the connection before its reply is whole.
            guard byte == 0 else { return .failed(.socksRefused(code: byte)) }
            self.state = .reserved
        case .reserved: self.state = .addressType
        case .addressType: return self.addressFollows(ofType: byte)
        case .nameByteCount: self.state = .addressAndPort(byteCount: Int(byte) + Self.portByteCount)
        case .addressAndPort(let count):
            if count == 1 { return .established }
            self.state = .addressAndPort(byteCount: count - 1)
        }
        return .incomplete
    }

    private mutating func expect(_ version: UInt8, _ byte: UInt8, then next: State) -> ProxyGreeting.Outcome {
        guard byte == version else { return .failed(.notSOCKS) }
        self.state = next
        return .incomplete
    }

    private mutating func methodChosen(_ method: UInt8) -> ProxyGreeting.Outcome {
        if let fault { return .failed(fault) }
        switch (method, self.credential) {
        case (Method.none, _): return self.connect()
        case (Method.userNameAndPassword, let credential?):
            self.bytesToSend += Self.login(credential)
            self.state = .statusVersion
            return .incomplete
        // Some proxies choose a method that was not offered.
        case (Method.userNameAndPassword, nil), (Method.noneAcceptable, nil):
            return .failed(.socksAuthenticationRefused(.credentialMissing))
        default: return .failed(.socksAuthenticationRefused(.methodsRefused))
        }
    }

    private mutating func connect() -> ProxyGreeting.Outcome {
        self.bytesToSend += self.request
        self.state = .replyVersion
        return .incomplete
    }

    private mutating func addressFollows(ofType type: UInt8) -> ProxyGreeting.Outcome {
        switch type {
        case AddressType.version4: self.state = .addressAndPort(byteCount: 4 + Self.portByteCount)
        case AddressType.version6: self.state = .addressAndPort(byteCount: 16 + Self.portByteCount)
        case AddressType.name: self.state = .nameByteCount
        // The end of the reply, and so the beginning of the tunnel, is unknown.
        default: return .failed(.notSOCKS)
        }
        return .incomplete
    }

    // MARK: Writing

    private static func fault(
        in endpoint: TransportEndpoint, _ credential: ProxyServer.Credential?
    ) -> TransportFailure.Cause? {
        if endpoint.host.utf8.count > Self.byteCountLimit {
            return .invalidRequest("the host is longer than the 255 bytes that SOCKS allows")
        }
        if let credential, max(credential.userName.count, credential.password.count) > Self.byteCountLimit {
            return .proxyInvalid("its user name or password is longer than the 255 bytes that SOCKS allows")
        }
        return nil
    }

    /// Returns the authentication request (RFC 1929 section 2).
    private static func login(_ credential: ProxyServer.Credential) -> [UInt8] {
        [Self.authenticationVersion] + Self.counted(credential.userName) + Self.counted(credential.password)
    }

    /// Returns the connection request (RFC 1928 section 4).
    private static func request(for endpoint: TransportEndpoint) -> [UInt8] {
        let address =
            switch IPAddress(endpoint.host) {
            case .version4(let bytes)?: [AddressType.version4] + bytes
            case .version6(let bytes)?: [AddressType.version6] + bytes
            case nil: [AddressType.name] + Self.counted(Array(endpoint.host.utf8))
            }
        return [Self.version, Self.connectCommand, 0] + address
            + [UInt8(endpoint.port >> 8), UInt8(endpoint.port & 0xFF)]
    }

    /// Returns bytes behind a byte with their count, at most 255 of them.
    private static func counted(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(clamping: bytes.count)] + bytes
    }

    // MARK: Numbers

    private static let version: UInt8 = 5
    private static let authenticationVersion: UInt8 = 1
    private static let connectCommand: UInt8 = 1
    private static let portByteCount = 2
    /// The largest byte count of a name, a user name or a password.
    private static let byteCountLimit = 255

    private enum Method {
        static let none: UInt8 = 0x00
        static let userNameAndPassword: UInt8 = 0x02
        static let noneAcceptable: UInt8 = 0xFF
    }

    private enum AddressType {
        static let version4: UInt8 = 1
        static let name: UInt8 = 3
        static let version6: UInt8 = 4
    }
}
