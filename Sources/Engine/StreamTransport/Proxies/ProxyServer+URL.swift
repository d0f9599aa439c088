/// Reads proxies from URLs: `http://user:password@host:port`.
///
/// Faults are described by fixed sentences: no part of the URL, which may contain a password, is in them except a known
/// scheme.
extension ProxyServer {
    /// Reads a URL; `http` is the default scheme.
    ///
    /// Schemes are `http`, `https`, `socks5`, with which names are looked up by this process, and `socks5h`, with which
    /// the proxy looks them up. The user name and the password are percent-encoded; they may have any length for `http`
    /// and `https`, and at most 255 bytes each for SOCKS.
    package init(url: String) throws(TransportFailure) {
        var rest = url.utf8[...].trimmed
        var scheme = Scheme.http
        var resolvesNames = true
        if let end = rest.firstRange(of: "://".utf8) {
            (scheme, resolvesNames) = try Self.scheme(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        let authority = rest.prefix { !Self.authorityEnds.contains($0) }
        let path = rest[authority.endIndex...]
        guard path.isEmpty || path.elementsEqual("/".utf8) else {
            throw Self.invalid("its URL has more than a host and a port")
        }
        var credential: Credential?
        var address = authority
        // A password may contain an unencoded @: the last one is the separator.
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            credential = try Self.credential(authority[..<at], for: scheme)
            address = authority[authority.index(after: at)...]
        }
        let (host, port) = try Self.hostAndPort(address)
        self.init(
            scheme: scheme, host: host, port: port ?? scheme.defaultPort, credential: credential,
            resolvesNames: resolvesNames)
    }

    private static let authorityEnds = Array("/?#\\".utf8)

    private static func invalid(_ fault: String) -> TransportFailure {
        TransportFailure(phase: .proxy, cause: .proxyInvalid(fault))
    }

    // MARK: The scheme

    private static let otherSchemes = ["socks", "socks4", "socks4a", "quic"]

    private static func scheme(_ bytes: Substring.UTF8View) throws(TransportFailure) -> (Scheme, resolvesNames: Bool) {
        let scheme = String(decoding: bytes, as: UTF8.self).lowercased()
        switch scheme {
        case "http": return (.http, true)
        case "https": return (.https, true)
        // curl's convention: the h means that the proxy receives the host name.
        case "socks5": return (.socks5, false)
        case "socks5h": return (.socks5, true)
        default:
            guard Self.otherSchemes.contains(scheme) else {
                throw Self.invalid("the scheme of its URL is not http, https, socks5 or socks5h")
            }
            throw Self.invalid("\(scheme) proxies are not supported; http, https, socks5 and socks5h ones are")
        }
    }

    // MARK: The credential

    /// The most bytes of a user name or a password (RFC 1929 section 2: the length is one byte).
    private static let socksByteCountLimit = 255

    /// Returns the user name and the password; nil when the user information is empty.
    private static func credential(
        _ bytes: Substring.UTF8View, for scheme: Scheme
    ) throws(TransportFailure) -> Credential? {
        guard !bytes.isEmpty else { return nil }
        let name = bytes.prefix { $0 != UInt8(ascii: ":") }
        let user = try Self.decoded(name)
        let password = try Self.decoded(bytes[name.endIndex...].dropFirst())
        switch scheme {
        case .http, .https:
            // RFC 7617 section 2: the first colon ends the user name.
            guard !user.contains(UInt8(ascii: ":")) else { throw Self.invalid("its user name has a colon") }
        case .socks5:
            guard user.count <= Self.socksByteCountLimit else {
                throw Self.invalid("its user name is longer than the 255 bytes that SOCKS allows")
            }
            guard password.count <= Self.socksByteCountLimit else {
                throw Self.invalid("its password is longer than the 255 bytes that SOCKS allows")
            }
        }
        return Credential(userName: user, password: password)
    }

    /// Removes the percent-encoding (RFC 3986 section 2.1).
    private static func decoded(_ bytes: Substring.UTF8View) throws(TransportFailure) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            var value = byte
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                    throw Self.invalid("its user name or password has a % that is not one of an encoded byte (%25 is)")
                }
                value = high << 4 | low
            }
            guard value >= 0x20, value != 0x7F else {
                throw Self.invalid("its user name or password has a control character")
            }
            decoded.append(value)
        }
        return decoded
    }

    // MARK: The host

    private static func hostAndPort(_ bytes: Substring.UTF8View) throws(TransportFailure) -> (String, UInt16?) {
        let host: String
        var rest = bytes
        if rest.first == UInt8(ascii: "[") {
            let address = rest.dropFirst().prefix { $0 != UInt8(ascii: "]") }
            host = String(decoding: address, as: UTF8.self)
            guard case .version6? = IPAddress(host), address.endIndex < rest.endIndex else {
                throw Self.invalid("what stands in brackets in its URL is not an IPv6 address")
            }
            rest = rest[address.endIndex...].dropFirst()
        } else {
            let name = rest.prefix { $0 != UInt8(ascii: ":") }
            guard !name.isEmpty, name.allSatisfy(\.isHostCharacter) else {
                throw Self.invalid("its URL has no host, or one that cannot be")
            }
            host = String(decoding: name, as: UTF8.self)
            rest = rest[name.endIndex...]
        }
        return (host, try Self.port(rest))
    }

    /// Returns the port of an empty text or of a colon and digits; nil when there is none.
    private static func port(_ bytes: Substring.UTF8View) throws(TransportFailure) -> UInt16? {
        let digits = bytes.dropFirst()
        if digits.isEmpty, bytes.isEmpty || bytes.first == UInt8(ascii: ":") { return nil }
        guard bytes.first == UInt8(ascii: ":"), let port: UInt16 = digits.decimalValue(), port > 0 else {
            throw Self.invalid("its port is not a number from 1 to 65535")
        }
        return port
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit; nil for another byte.
    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Indicates whether the byte may be in a name that is looked up.
    fileprivate var isHostCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension Substring.UTF8View {
    /// Returns the decimal number; nil when there are other bytes than digits.
    func decimalValue<Number: FixedWidthInteger>() -> Number? {
        guard self.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Number(String(decoding: self, as: UTF8.self))
    }

    /// The bytes without the white space around them.
    var trimmed: Substring.UTF8View {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || 0x09...0x0D ~= $0 }
        let start = self.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start.prefix(0) }
        return start[...last]
    }
}

/// The base64 encoding of RFC 4648 section 4.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the bytes as padded base64 text.
    static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for place in 0..<4 {
                let digit = Int(bits >> (18 - 6 * UInt32(place)) & 0x3F)
                text.append(place <= group.count ? Self.alphabet[digit] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text that is their padded encoding; nil for any other text.
    static func decoded(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        guard text.utf8.count.isMultiple(of: 4), text.utf8.count - digits.count <= 2 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        for (index, digit) in digits.enumerated() {
            guard let value = Self.alphabet.firstIndex(of: digit) else { return nil }
            bits = bits << 6 | UInt32(value)
            if index % 4 > 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> (6 - 2 * UInt32(index % 4)))) }
        }
        // The padding may be none, and the last digit may have bits that belong to no byte.
        return Self.encoded(bytes) == String(text) ? bytes : nil
    }
}
