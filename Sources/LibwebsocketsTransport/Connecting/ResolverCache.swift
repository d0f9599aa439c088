#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What look-ups have given, for a short time.
///
/// It reads no clock; its owner is the resolver's lock. `getaddrinfo` does not say how long an answer may be kept, so
/// it is kept for less time than most records of a service allow, and no longer than it leads to a connection.
struct ResolverCache {
    /// How long addresses are kept.
    static let positiveLifetime: Duration = .seconds(30)
    /// How long it is known that a name does not exist: about as long as impatience.
    static let negativeLifetime: Duration = .seconds(1)
    /// More names than this are not kept; the one that would be forgotten first gives way.
    static let nameLimit = 256

    private struct Entry {
        let answer: Resolver.Answer
        let end: ContinuousClock.Instant
    }

    private var entries: [String: Entry] = [:]

    /// How many names are held.
    var count: Int { self.entries.count }

    /// The answer that is known for a name.
    func answer(for name: String, at now: ContinuousClock.Instant) -> Resolver.Answer? {
        guard let entry = self.entries[name], now < entry.end else { return nil }
        return entry.answer
    }

    /// Keeps an answer, if it says something about the name; otherwise forgets the one before.
    ///
    /// That a server of names did not answer, or that the process lacks something, may be over at once.
    mutating func store(_ answer: Resolver.Answer, for name: String, at now: ContinuousClock.Instant) {
        self.entries[name] = nil
        guard let lifetime = Self.lifetime(of: answer) else { return }
        if self.entries.count >= Self.nameLimit { self.makeRoom(at: now) }
        self.entries[name] = Entry(answer: answer, end: now + lifetime)
    }

    /// Forgets a name: its addresses have led nowhere.
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
