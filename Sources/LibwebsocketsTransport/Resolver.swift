import StreamTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Looks addresses up, on threads of its own: `getaddrinfo` blocks, and this build of libwebsockets calls it on the
/// loop.
///
/// At most eight look-ups run at a time; further ones wait in line.
final class Resolver: Sendable {
    /// What a look-up gives: numeric addresses in the system's order of preference, or `getaddrinfo`'s code.
    typealias Answer = Result<[String], LookupFailure>

    /// `getaddrinfo` failed.
    struct LookupFailure: Error, Equatable {
        /// `EAI_…`.
        let code: Int32
    }

    private struct Lookup: Sendable {
        let host: String
        let deliver: @Sendable (Answer) -> Void
    }

    private struct State {
        var waiting: [Lookup] = []
        var threadCount = 0
    }

    private static let threadLimit = 8
    private let state = LockedValue(State())

    /// The addresses of a host; `deliver` is called once, on another thread.
    func resolve(_ host: String, deliver: @escaping @Sendable (Answer) -> Void) {
        let needsThread = self.state.withLock { state in
            state.waiting.append(Lookup(host: host, deliver: deliver))
            guard state.threadCount < Self.threadLimit else { return false }
            state.threadCount += 1
            return true
        }
        guard needsThread, !startThread({ self.work() }) else { return }
        // No thread to be had: say so to whoever would have waited for it.
        let stranded = self.state.withLock { state in
            state.threadCount -= 1
            return state.threadCount == 0 ? state.waiting.take() : []
        }
        for lookup in stranded { lookup.deliver(.failure(LookupFailure(code: EAI_MEMORY))) }
    }

    private func work() {
        while let lookup = self.next() {
            lookup.deliver(Self.addresses(of: lookup.host))
        }
    }

    private func next() -> Lookup? {
        self.state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.threadCount -= 1
            return nil
        }
    }

    /// Whether the host is an address already.
    static func isNumeric(_ host: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }

    private static func addresses(of host: String) -> Answer {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        #if canImport(Glibc)
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #else
            hints.ai_socktype = SOCK_STREAM
        #endif
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else { return .failure(LookupFailure(code: code)) }
        defer { freeaddrinfo(list) }
        var addresses: [String] = []
        var entry = list
        while let current = entry {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            if getnameinfo(
                current.pointee.ai_addr, current.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0,
                NI_NUMERICHOST
            ) == 0 {
                let address = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                if !addresses.contains(address) { addresses.append(address) }
            }
            entry = current.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(LookupFailure(code: EAI_NONAME)) : .success(addresses)
    }
}
