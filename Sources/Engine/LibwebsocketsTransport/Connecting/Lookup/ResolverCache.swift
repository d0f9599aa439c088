import PlatformC

/// The recent results of look-ups.
///
/// It reads no clock; its owner is the resolver's lock. `getaddrinfo` does not report the lifetime of an answer, so an
/// answer is kept for less time than most records of a service allow, and is forgotten when it leads to no connection.
struct ResolverCache {
    /// The time for which addresses are kept.
    static let positiveLifetime: Duration = .seconds(30)
    /// The time for which a name is known not to exist: short, because a person who waits tries again soon.
    static let negativeLifetime: Duration = .seconds(1)
    /// The largest number of names that are kept; at the limit, the entry that expires first is replaced.
    static let nameLimit = 256

    private struct Entry {
        let answer: Resolver.Answer
        let end: ContinuousClock.Instant
    }

    private var entries: [String: Entry] = [:]

    /// The number of names in the cache.
    var count: Int { self.entries.count }

    /// Returns the cached answer for a name.
    func answer(for name: String, at now: ContinuousClock.Instant) -> Resolver.Answer? {
        guard let entry = self.entries[name], now < entry.end else { return nil }
        return entry.answer
    }

    /// Stores an answer that is about the name; forgets the previous one for any other failure.
    ///
    /// A name server that does not answer, or a shortage of resources in the process, may be temporary.
    mutating func store(_ answer: Resolver.Answer, for name: String, at now: ContinuousClock.Instant) {
        self.entries[name] = nil
        guard let lifetime = Self.lifetime(of: answer) else { return }
        if self.entries.count >= Self.nameLimit { self.makeRoom(at: now) }
        self.entries[name] = Entry(answer: answer, end: now + lifetime)
    }

    /// Forgets a name whose addresses could not be connected to.
    mutating func forget(_ name: String) {
        self.entries[name] = nil
    }

    private static func lifetime(of answer: Resolver.Answer) -> Duration? {
        switch answer {
        case .success: return self.positiveLifetime
        case .failure(.unresolvable(let code)): return Self.isAboutName(code) ? self.negativeLifetime : nil
        case .failure(.descriptorsExhausted): return nil
        }
    }

    private static func isAboutName(_ code: Int32) -> Bool {
        #if canImport(Glibc)
            // `EAI_NODATA`, which glibc's header hides: the name exists and has no address.
            return code == EAI_NONAME || code == -5
        #else
            return code == EAI_NONAME || code == EAI_NODATA
        #endif
    }

    private mutating func makeRoom(at now: ContinuousClock.Instant) {
        self.entries = self.entries.filter { now < $0.value.end }
        guard self.entries.count >= Self.nameLimit,
            let first = self.entries.min(by: { $0.value.end < $1.value.end })?.key
        else { return }
        self.entries[first] = nil
    }
}
