/// Proxies as they are written: `http://user:password@host:port`.
///
/// What is wrong with a URL is said in fixed sentences: nothing of the URL, which may have a password, is in them but
/// a scheme that is known.
extension ProxyServer {
    /// The port of a URL that names none: that of its scheme, `http` (RFC 9110 section 4.2.1).
    ///
    /// curl takes 1080, which is the port of SOCKS.
    package static let defaultPort: UInt16 = 80

    /// Reads a URL; one without a scheme is taken for one with `http`.
    ///
    /// The user name and the password are percent-encoded in it, and may have any length.
    package init(url: String) throws(TransportFailure) {
        var rest = url.utf8[...].trimmed
        if let end = rest.firstRange(of: "://".utf8) {
            try Self.checkScheme(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
        }
        let authority = rest.prefix { !Self.authorityEnds.contains($0) }
        let path = rest[authority.endIndex...]
        guard path.isEmpty || path.elementsEqual("/".utf8) else {
            throw Self.invalid("its URL has more than a host and a port")
        }
        // A password may have an @ in it that is not encoded: the last one counts.
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            self.authorization = try Self.authorization(authority[..<at])
            (self.host, self.port) = try Self.hostAndPort(authority[authority.index(after: at)...])
        } else {
            self.authorization = nil
            (self.host, self.port) = try Self.hostAndPort(authority)
        }
    }

    private static let authorityEnds = Array("/?#\\".utf8)

    private static func invalid(_ fault: String) -> TransportFailure {
        TransportFailure(phase: .proxy, cause: .proxyInvalid(fault))
    }

    // MARK: The scheme

    private static let otherSchemes = ["https", "socks", "socks4", "socks4a", "socks5", "socks5h", "quic"]

    private static func checkScheme(_ bytes: Substring.UTF8View) throws(TransportFailure) {
        let scheme = String(decoding: bytes, as: UTF8.self).lowercased()
        guard scheme != "http" else { return }
        guard Self.otherSchemes.contains(scheme) else { throw Self.invalid("the scheme of its URL is not http") }
        throw Self.invalid("\(scheme) proxies are not supported, http ones are")
    }

    // MARK: The credential

    /// The value of `Proxy-Authorization` (RFC 7617 section 2); nil when the user information is empty.
    private static func authorization(_ bytes: Substring.UTF8View) throws(TransportFailure) -> String? {
        guard !bytes.isEmpty else { return nil }
        let name = bytes.prefix { $0 != UInt8(ascii: ":") }
        let user = try Self.decoded(name)
        guard !user.contains(UInt8(ascii: ":")) else { throw Self.invalid("its user name has a colon") }
        let password = try Self.decoded(bytes[name.endIndex...].dropFirst())
        return "Basic " + Base64.encoded(user + [UInt8(ascii: ":")] + password)
    }

    /// Takes the percent-encoding away (RFC 3986 section 2.1).
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

    private static func hostAndPort(_ bytes: Substring.UTF8View) throws(TransportFailure) -> (String, UInt16) {
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

    /// `bytes` is empty, or a colon and what follows it.
    private static func port(_ bytes: Substring.UTF8View) throws(TransportFailure) -> UInt16 {
        let digits = bytes.dropFirst()
        if digits.isEmpty, bytes.isEmpty || bytes.first == UInt8(ascii: ":") { return Self.defaultPort }
        guard bytes.first == UInt8(ascii: ":"), let port: UInt16 = digits.decimalValue(), port > 0 else {
            throw Self.invalid("its port is not a number from 1 to 65535")
        }
        return port
    }
}

extension UInt8 {
    /// What a hexadecimal digit stands for.
    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Whether it may stand in a name that is looked up.
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
    /// The number that it is; nil when there is something other than digits.
    func decimalValue<Number: FixedWidthInteger>() -> Number? {
        guard self.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Number(String(decoding: self, as: UTF8.self))
    }

    /// Without the white space around it.
    var trimmed: Substring.UTF8View {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || 0x09...0x0D ~= $0 }
        let start = self.drop(while: isSpace)
        guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start.prefix(0) }
        return start[...last]
    }
}

/// RFC 4648 section 4.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The bytes as text, padded.
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
}
