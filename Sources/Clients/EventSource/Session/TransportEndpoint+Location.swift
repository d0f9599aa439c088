import StreamTransport

// The address that a `Location` names (RFC 9110 section 10.2.2), relative to the address that was asked: RFC 3986
// section 5.2, and where texts in use break its rules, the WHATWG URL standard. Pure.
extension TransportEndpoint {
    /// The longest `Location` that is read, in bytes.
    static let locationByteCountLimit = 16 << 10

    /// The scheme, the host and the port (RFC 6454 section 4).
    struct Origin: Hashable {
        let isSecure: Bool
        let host: String
        let port: UInt16
    }

    /// The origin, whose host is in lower case.
    var origin: Origin { Origin(isSecure: self.isSecure, host: self.host.lowercased(), port: self.port) }

    /// Returns the address that a text names, relative to this one; nil for a text that is no address of http or https.
    ///
    /// A fragment is dropped: it is no part of a request. Bytes that may not be in a request line are percent-encoded.
    /// User information is refused: its password would stay in addresses.
    func resolving(location: String) -> TransportEndpoint? {
        guard location.utf8.count <= Self.locationByteCountLimit else { return nil }
        var rest = Self.trimmed(location.utf8[...]).prefix { $0 != UInt8(ascii: "#") }
        var isSecure = self.isSecure
        if let scheme = Self.takeScheme(&rest) {
            switch scheme {
            case "http": isSecure = false
            case "https": isSecure = true
            default: return nil
            }
            // `https:/path` and `https:path` are read differently everywhere: RFC 3986 section 4.2 knows neither.
            guard Self.beginsAuthority(rest) else { return nil }
        }
        guard Self.beginsAuthority(rest) else { return self.resolving(reference: rest) }
        rest = rest.dropFirst(2)
        let authority = rest.prefix { !Self.authorityEnds.contains($0) }
        guard let (host, port) = Self.hostAndPort(authority) else { return nil }
        return TransportEndpoint(
            isSecure: isSecure, host: host, port: port ?? (isSecure ? 443 : 80),
            target: Self.target(path: rest[authority.endIndex...], below: []))
    }

    /// Returns the address of a reference without an authority.
    private func resolving(reference: Substring.UTF8View) -> TransportEndpoint {
        var endpoint = self
        let path = self.target.utf8.prefix { $0 != UInt8(ascii: "?") }
        switch reference.first {
        case nil: break
        case UInt8(ascii: "?"): endpoint.target = Self.target(path: reference, whole: Array(path))
        case UInt8(ascii: "/"), UInt8(ascii: "\\"): endpoint.target = Self.target(path: reference, below: [])
        default:
            let folder = path.lastIndex(of: UInt8(ascii: "/")).map { Array(path[...$0]) } ?? []
            endpoint.target = Self.target(path: reference, below: folder)
        }
        return endpoint
    }

    // MARK: Parts

    private static let authorityEnds = Array("/\\?".utf8)

    private static func trimmed(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
        let start = bytes.drop { $0 <= 0x20 }
        guard let last = start.lastIndex(where: { $0 > 0x20 }) else { return start.prefix(0) }
        return start[...last]
    }

    /// Takes a scheme and its colon (RFC 3986 section 3.1); nil when there is none.
    private static func takeScheme(_ rest: inout Substring.UTF8View) -> String? {
        let scheme = rest.prefix {
            switch Unicode.Scalar($0) {
            case "a"..."z", "A"..."Z", "0"..."9", "+", "-", ".": true
            default: false
            }
        }
        let behind = rest[scheme.endIndex...]
        guard behind.first == UInt8(ascii: ":"), let first = scheme.first,
            Unicode.Scalar(first).properties.isAlphabetic
        else { return nil }
        rest = behind.dropFirst()
        return String(decoding: scheme, as: UTF8.self).lowercased()
    }

    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

    private static func beginsAuthority(_ bytes: Substring.UTF8View) -> Bool {
        bytes.count >= 2 && bytes.prefix(2).allSatisfy(Self.isSlash)
    }

    /// Returns the host without brackets, and the port; nil for an authority that no request may have.
    private static func hostAndPort(_ authority: Substring.UTF8View) -> (host: String, port: UInt16?)? {
        guard !authority.contains(UInt8(ascii: "@")) else { return nil }
        let host: Substring.UTF8View
        var rest: Substring.UTF8View
        if authority.first == UInt8(ascii: "[") {
            host = authority.dropFirst().prefix { $0 != UInt8(ascii: "]") }
            guard host.endIndex < authority.endIndex,
                case .version6? = IPAddress(String(decoding: host, as: UTF8.self))
            else { return nil }
            rest = authority[host.endIndex...].dropFirst()
        } else {
            host = authority.prefix { $0 != UInt8(ascii: ":") }
            guard !host.isEmpty, host.count <= 255, host.allSatisfy(Self.isNameByte) else { return nil }
            rest = authority[host.endIndex...]
        }
        guard rest.isEmpty || rest.first == UInt8(ascii: ":") else { return nil }
        rest = rest.dropFirst()
        let text = String(decoding: host, as: UTF8.self).lowercased()
        if rest.isEmpty { return (text, nil) }
        guard rest.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let port = UInt16(String(decoding: rest, as: UTF8.self)), port > 0
        else { return nil }
        return (text, port)
    }

    /// Returns whether a byte may be in the name or the IPv4 address of a host.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_": true
        default: false
        }
    }

    // MARK: Path and query

    /// Returns the target of a path with its query, below a folder.
    private static func target(path: Substring.UTF8View, below folder: [UInt8]) -> String {
        let own = path.prefix { $0 != UInt8(ascii: "?") }
        let slashed = own.map { Self.isSlash($0) ? UInt8(ascii: "/") : $0 }
        return Self.target(path: path, whole: Self.withoutDotSegments(folder + slashed))
    }

    /// Returns the target of a path, with the query of a reference.
    private static func target(path reference: Substring.UTF8View, whole path: [UInt8]) -> String {
        let query = reference.drop { $0 != UInt8(ascii: "?") }
        let path = path.first == UInt8(ascii: "/") ? path : [UInt8(ascii: "/")] + path
        var target: [UInt8] = []
        for byte in path + Array(query) { Self.append(byte, to: &target) }
        return String(decoding: target, as: UTF8.self)
    }

    /// Removes the segments `.` and `..` (RFC 3986 section 5.2.4).
    private static func withoutDotSegments(_ path: [UInt8]) -> [UInt8] {
        var segments: [ArraySlice<UInt8>] = []
        var endsInFolder = false
        for segment in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst(
            path.first == UInt8(ascii: "/") ? 1 : 0)
        {
            switch String(decoding: segment, as: UTF8.self).lowercased() {
            case ".", "%2e": endsInFolder = true
            case "..", ".%2e", "%2e.", "%2e%2e":
                _ = segments.popLast()
                endsInFolder = true
            default:
                segments.append(segment)
                endsInFolder = false
            }
        }
        return Array("/".utf8) + segments.joined(separator: "/".utf8)
            + (endsInFolder && !segments.isEmpty ? "/".utf8 : "".utf8)
    }

    /// Printable bytes that are no part of a path or a query (RFC 3986 appendix A).
    private static let encodedBytes = Array("\"<>`{}".utf8)

    private static func append(_ byte: UInt8, to target: inout [UInt8]) {
        let isPlain = 0x21...0x7E ~= byte && !Self.encodedBytes.contains(byte)
        guard !isPlain else { return target.append(byte) }
        target += "%".utf8
        for digit in [byte >> 4, byte & 15] {
            target.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
        }
    }
}
