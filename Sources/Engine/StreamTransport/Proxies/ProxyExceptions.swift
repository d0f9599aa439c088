/// The servers that are connected to directly, as `NO_PROXY` lists them.
///
/// Entries are separated by commas or white space. Names are compared, and never looked up.
package struct ProxyExceptions: Sendable, Equatable {
    private enum Pattern: Equatable {
        /// Every server (`*`).
        case everything
        /// A name, and the names below it; lower case, no dot at either end.
        case name(String)
        /// An address, or the addresses with the same first `bitCount` bits.
        case block(IPAddress, bitCount: Int)
    }

    private struct Entry: Equatable {
        let pattern: Pattern
        /// The port; nil for every port.
        let port: UInt16?
    }

    private let entries: [Entry]

    /// Reads a list; invalid entries are left out.
    package init(_ list: String) {
        self.entries = list.split { $0 == "," || $0.isWhitespace }.compactMap { Self.entry(String($0)) }
    }

    /// Returns whether a server is among the exceptions.
    package func contains(host: String, port: UInt16) -> Bool {
        let address = IPAddress(host)?.unmapped
        let name = Self.canonical(host)
        return self.entries.contains { entry in
            guard entry.port == nil || entry.port == port else { return false }
            switch entry.pattern {
            case .everything: return true
            case .name(let suffix): return address == nil && (name == suffix || name.hasSuffix("." + suffix))
            case .block(let block, let bitCount): return address?.hasPrefix(bitCount, of: block) ?? false
            }
        }
    }

    // MARK: Entries

    private static func entry(_ text: String) -> Entry? {
        // An IPv6 address without brackets contains colons, so it has no port.
        if let block = Self.block(text) { return Entry(pattern: block, port: nil) }
        guard let colon = text.lastIndex(of: ":") else { return Self.entry(host: text, port: nil) }
        guard let port: UInt16 = text[text.index(after: colon)...].utf8.decimalValue(), port > 0 else { return nil }
        return Self.entry(host: String(text[..<colon]), port: port)
    }

    private static func entry(host: String, port: UInt16?) -> Entry? {
        if host == "*" { return Entry(pattern: .everything, port: port) }
        if let block = Self.block(host) { return Entry(pattern: block, port: port) }
        // Other programs write `.example.com` as `*.example.com`.
        let name = Self.canonical(host.hasPrefix("*.") ? String(host.dropFirst()) : host)
        guard !name.isEmpty, !name.contains(where: { ":[]/".contains($0) }) else { return nil }
        return Entry(pattern: .name(name), port: port)
    }

    /// Returns an address or a block of addresses (RFC 4632 section 3.1), with or without brackets around the address.
    private static func block(_ text: String) -> Pattern? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        var address = parts[0]
        if address.hasPrefix("["), address.hasSuffix("]") { address = String(address.dropFirst().dropLast()) }
        guard let written = IPAddress(address) else { return nil }
        let block = written.unmapped
        guard parts.count == 2 else { return .block(block, bitCount: block.bitCount) }
        guard let length: Int = parts[1][...].utf8.decimalValue() else { return nil }
        // The length of a block of mapped addresses includes the bits before the IPv4 address.
        let bitCount = length - (written.bitCount - block.bitCount)
        guard 0...block.bitCount ~= bitCount else { return nil }
        return .block(block, bitCount: bitCount)
    }

    private static func canonical(_ name: String) -> String {
        var name = name.lowercased()[...]
        while name.first == "." { name.removeFirst() }
        if name.last == "." { name.removeLast() }
        return String(name)
    }
}
