// SOCKS 5 as RFC 1928 and 1929 have it, read over all bytes at once.

import LibwebsocketsTransport
import StreamTransport

/// A reading from the beginning to the end, which stops where bytes are missing.
struct SOCKSModel {
    private struct Missing: Error {}

    private let bytes: [UInt8]
    private let credential: ProxyServer.Credential?
    private let address: [UInt8]
    private let port: UInt16
    private var position = 0
    private var sent: [UInt8]

    /// A reading of everything that a proxy sends.
    init(bytes: [UInt8], proxy: ProxyServer, endpoint: TransportEndpoint) {
        self.bytes = bytes
        self.credential = proxy.credential
        self.port = endpoint.port
        switch endpoint.host {
        case "192.0.2.1": self.address = [1, 192, 0, 2, 1]
        case "2001:db8::1": self.address = [4, 0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        default: self.address = [3, UInt8(endpoint.host.utf8.count)] + Array(endpoint.host.utf8)
        }
        self.sent = proxy.credential == nil ? [5, 1, 0] : [5, 2, 0, 2]
    }

    /// All that there is to see.
    mutating func course() -> GreetingCheck.Course {
        var outcome = ProxyGreeting.Outcome.incomplete
        do {
            try self.read()
            outcome = .established
        } catch let failure as TransportFailure {
            outcome = .failed(failure.cause)
        } catch {
            // Bytes are missing.
            self.position = self.bytes.count
        }
        return GreetingCheck.Course(sent: self.sent, byteCount: self.position, outcome: outcome)
    }

    private mutating func read() throws {
        try self.version(5)
        let method = try self.next()
        if method == 2, let credential {
            let (user, password) = (credential.userName, credential.password)
            self.sent += [1, UInt8(user.count)] + user + [UInt8(password.count)] + password
            try self.version(1)
            guard try self.next() == 0 else { throw Self.refused(.credentialRefused) }
        } else if method != 0 {
            let wantsLogin = self.credential == nil && [2, 0xFF].contains(method)
            throw Self.refused(wantsLogin ? .credentialMissing : .methodsRefused)
        }
        self.sent += [5, 1, 0] + self.address + [UInt8(self.port / 256), UInt8(self.port % 256)]
        try self.version(5)
        let reply = try self.next()
        guard reply == 0 else { throw Self.failure(.socksRefused(code: reply)) }
        _ = try self.next()
        let lengths: [UInt8: Int] = [1: 4, 4: 16]
        let type = try self.next()
        guard type == 3 || lengths[type] != nil else { throw Self.failure(.notSOCKS) }
        let length = try lengths[type] ?? Int(self.next())
        for _ in 0..<(length + 2) { _ = try self.next() }
    }

    private mutating func next() throws -> UInt8 {
        guard self.position < self.bytes.count else { throw Missing() }
        defer { self.position += 1 }
        return self.bytes[self.position]
    }

    private mutating func version(_ version: UInt8) throws {
        guard try self.next() == version else { throw Self.failure(.notSOCKS) }
    }

    private static func failure(_ cause: TransportFailure.Cause) -> TransportFailure {
        TransportFailure(phase: .proxy, cause: cause)
    }

    private static func refused(_ fault: TransportFailure.SOCKSAuthenticationFault) -> TransportFailure {
        Self.failure(.socksAuthenticationRefused(fault))
    }
}
