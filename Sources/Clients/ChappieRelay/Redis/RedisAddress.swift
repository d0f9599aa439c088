import ChappieTransport
import StreamTransport
package import TransportSurface

/// A server of Redis as a URL names it: `redis://user:password@host:6379/0`.
///
/// Faults are described by fixed sentences, and no description has the user name or the password.
package struct RedisAddress: Sendable, Hashable {
    /// A host and its port.
    package struct Host: Sendable, Hashable, CustomStringConvertible {
        /// A name or an address without brackets.
        package let name: String
        /// The port, 1–65,535.
        package let port: UInt16

        /// Creates a host.
        package init(name: String, port: UInt16) {
            self.name = name
            self.port = port
        }

        /// The host and the port, as in a URL.
        package var description: String {
            self.name.utf8.contains(0x3a) ? "[\(self.name)]:\(self.port)" : "\(self.name):\(self.port)"
        }
    }

    /// A user of the server's access control list; without a name, the one who has no name (`default`).
    ///
    /// Its description contains neither the name nor the password.
    package struct Credential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
        CustomReflectable
    {
        /// The user's name; nil for the default user.
        package let user: String?
        /// The password.
        package let password: String

        /// Fixed text.
        package var description: String { "Credential(redacted)" }
        /// Fixed text.
        package var debugDescription: String { self.description }
        /// No children.
        package var customMirror: Mirror { Mirror(self, children: [:]) }
    }

    /// The kind of a URL's hosts.
    package enum Kind: Sendable, Hashable {
        /// The server.
        case server
        /// Sentinels, which know the server by this name.
        case sentinels(masterName: String)
    }

    /// The kind of the hosts.
    package let kind: Kind
    /// The hosts in order; one for a server.
    package let hosts: [Host]
    /// Indicates whether the connection has TLS.
    package let isSecure: Bool
    /// The user; nil for none.
    package let credential: Credential?
    /// The number of the database.
    package let database: Int

    /// The hosts, for messages.
    package var place: String { self.hosts.map(\.description).joined(separator: ",") }

    /// Reads a URL.
    ///
    /// The forms are `redis://[user[:password]@]host[:port][/database]`, the same with `rediss` for TLS, and
    /// `redis+sentinel://[user[:password]@]host[:port],…/name[/database]`, the same with `rediss+sentinel`. User and
    /// password are percent-encoded. The port is 6379, and 26379 for a Sentinel, unless the URL says otherwise.
    package init(_ url: String) throws(ChappieArgumentError) {
        guard let colon = url.firstRange(of: "://") else { throw Self.invalid("has no scheme, such as redis://") }
        let isSentinel: Bool
        switch url[..<colon.lowerBound].lowercased() {
        case "redis": (self.isSecure, isSentinel) = (false, false)
        case "rediss": (self.isSecure, isSentinel) = (true, false)
        case "redis+sentinel": (self.isSecure, isSentinel) = (false, true)
        case "rediss+sentinel": (self.isSecure, isSentinel) = (true, true)
        default:
            throw Self.invalid("has a scheme other than redis, rediss, redis+sentinel and rediss+sentinel")
        }
        let rest = url[colon.upperBound...]
        guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
            throw Self.invalid("has a query or a fragment, or a ? or # that is not percent-encoded")
        }
        // A password may contain an unencoded @: the last one ends it. A / in it has to be encoded.
        let authority = rest.prefix { $0 != "/" }
        let path = rest[authority.endIndex...].split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        let at = authority.lastIndex(of: "@")
        self.credential = if let at { try Self.credential(authority[..<at]) } else { nil }
        let list = at.map { authority[authority.index(after: $0)...] } ?? authority
        var hosts: [Host] = []
        for host in list.split(separator: ",", omittingEmptySubsequences: false) {
            hosts.append(try Self.host(host, defaultPort: isSentinel ? 26379 : 6379))
        }
        self.hosts = hosts
        if isSentinel {
            guard let name = path.first, path.count <= 2 else {
                throw Self.invalid("has no name of a master behind the Sentinels, or more than it and a database")
            }
            self.kind = .sentinels(masterName: String(decoding: try Self.decoded(name.utf8[...]), as: UTF8.self))
            self.database = try Self.database(path.dropFirst().first)
        } else {
            guard self.hosts.count == 1 else { throw Self.invalid("has more than one host, which need redis+sentinel") }
            guard path.count <= 1 else { throw Self.invalid("has more than a database behind the host") }
            self.kind = .server
            self.database = try Self.database(path.first)
        }
    }

    private static func invalid(_ fault: String) -> ChappieArgumentError { ChappieArgumentError("url", fault) }

    private static func credential(_ text: Substring) throws(ChappieArgumentError) -> Credential? {
        guard !text.isEmpty else { return nil }
        guard let colon = text.firstIndex(of: ":") else { throw Self.invalid("has a user without a password") }
        let user = String(decoding: try self.decoded(text[..<colon].utf8), as: UTF8.self)
        let password = String(decoding: try self.decoded(text[text.index(after: colon)...].utf8), as: UTF8.self)
        guard !password.isEmpty else { throw Self.invalid("has an empty password") }
        return Credential(user: user.isEmpty ? nil : user, password: password)
    }

    private static func host(_ text: Substring, defaultPort: UInt16) throws(ChappieArgumentError) -> Host {
        var name = text
        var rest = text[text.endIndex...]
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]"), case .version6? = IPAddress(String(text[..<end].dropFirst()))
            else {
                throw Self.invalid("has brackets around something else than an IPv6 address")
            }
            name = text[..<end].dropFirst()
            rest = text[text.index(after: end)...]
        } else if let colon = text.firstIndex(of: ":") {
            name = text[..<colon]
            rest = text[colon...]
        }
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isOfHost) else {
            throw Self.invalid("has no host, or one that cannot be")
        }
        guard !rest.isEmpty else { return Host(name: String(name), port: defaultPort) }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits),
            port > 0
        else { throw Self.invalid("has a port that is no number from 1 to 65535") }
        return Host(name: String(name), port: port)
    }

    /// Letters, digits, and what addresses and names have besides.
    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), UInt8(ascii: "%"):
            true
        default: byte >= 0x80
        }
    }

    private static func database(_ text: String?) throws(ChappieArgumentError) -> Int {
        guard let text else { return 0 }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int32(text) else {
            throw Self.invalid("has a database that is no number")
        }
        return Int(number)
    }

    /// Removes the percent-encoding (RFC 3986 section 2.1).
    private static func decoded(_ bytes: Substring.UTF8View) throws(ChappieArgumentError) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit) else {
                throw Self.invalid("has a % that is not one of an encoded byte (%25 is)")
            }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
