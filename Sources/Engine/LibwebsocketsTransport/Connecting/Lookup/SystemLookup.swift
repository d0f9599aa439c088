import PlatformC

/// The system's own look-up.
enum SystemLookup {
    /// Looks up the addresses of a host, of both families, in the order of RFC 6724.
    ///
    /// `AI_ADDRCONFIG` is not set: with it `::1` is not found on a machine that has no other IPv6 address. On a machine
    /// with one family only, attempts to addresses of the other fail at once (`ENETUNREACH`), which `AddressRace`
    /// handles.
    @Sendable static func addresses(of host: String) -> Resolver.Answer {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = SystemSocket.streamType
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else {
            // Without a descriptor no look-up is possible, and the error that reports it differs between systems.
            if let limit = DescriptorLimit.exhausted() { return .failure(.descriptorsExhausted(limit: limit)) }
            return .failure(.unresolvable(code: code))
        }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let current = entry {
            if let address = Self.text(of: current.pointee), !addresses.contains(address) { addresses.append(address) }
            entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.unresolvable(code: EAI_NONAME)) : .success(addresses)
    }

    private static func text(of entry: addrinfo) -> String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard
            getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
        else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
