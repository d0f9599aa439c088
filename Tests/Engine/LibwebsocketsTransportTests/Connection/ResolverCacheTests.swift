// The lifetime of a look-up's answer, by a clock of the test's own.

import Foundation
import Testing

@testable import LibwebsocketsTransport

@Suite struct ResolverCacheTests {
    private static let start = ContinuousClock.now
    private static let answer = Resolver.Answer.success(["127.0.0.1"])
    private static let unknown = Resolver.Answer.failure(.unresolvable(code: EAI_NONAME))

    private static func moment(_ milliseconds: Int) -> ContinuousClock.Instant {
        Self.start + .milliseconds(milliseconds)
    }

    @Test func emptyCacheHasNoAnswer() {
        #expect(ResolverCache().answer(for: "a", at: Self.start) == nil)
    }

    @Test func addressesAreKnownForHalfAMinute() {
        var cache = ResolverCache()
        cache.store(Self.answer, for: "a", at: Self.start)
        #expect(cache.answer(for: "a", at: Self.start) == Self.answer)
        #expect(cache.answer(for: "a", at: Self.moment(29_999)) == Self.answer)
        #expect(cache.answer(for: "a", at: Self.moment(30_000)) == nil)
        #expect(cache.answer(for: "b", at: Self.start) == nil)
    }

    /// `EAI_NODATA` is -5 and hidden by glibc's header.
    @Test(arguments: [EAI_NONAME, -5])
    func unresolvableNameIsCachedForASecond(_ code: Int32) {
        var cache = ResolverCache()
        let answer = Resolver.Answer.failure(.unresolvable(code: code))
        cache.store(answer, for: "a", at: Self.start)
        #expect(cache.answer(for: "a", at: Self.moment(999)) == answer)
        #expect(cache.answer(for: "a", at: Self.moment(1_000)) == nil)
    }

    @Test(arguments: [
        Resolver.LookupFailure.unresolvable(code: EAI_AGAIN), .unresolvable(code: EAI_FAIL),
        .unresolvable(code: EAI_MEMORY), .unresolvable(code: EAI_SYSTEM), .descriptorsExhausted(limit: 1_024),
    ])
    func temporaryFailuresAreNotCached(_ failure: Resolver.LookupFailure) {
        var cache = ResolverCache()
        cache.store(Self.answer, for: "a", at: Self.start)
        cache.store(.failure(failure), for: "a", at: Self.moment(1))
        #expect(cache.answer(for: "a", at: Self.moment(1)) == nil)
        #expect(cache.count == 0)
    }

    @Test func theNewestAnswerCounts() {
        var cache = ResolverCache()
        cache.store(Self.answer, for: "a", at: Self.start)
        cache.store(.success(["::1"]), for: "a", at: Self.moment(20_000))
        #expect(cache.answer(for: "a", at: Self.moment(49_999)) == .success(["::1"]))
        cache.store(Self.unknown, for: "a", at: Self.moment(20_001))
        #expect(cache.answer(for: "a", at: Self.moment(20_002)) == Self.unknown)
    }

    @Test func aForgottenNameIsNotKnown() {
        var cache = ResolverCache()
        cache.store(Self.answer, for: "a", at: Self.start)
        cache.store(Self.answer, for: "b", at: Self.start)
        cache.forget("a")
        cache.forget("c")
        #expect(cache.answer(for: "a", at: Self.start) == nil)
        #expect(cache.answer(for: "b", at: Self.start) == Self.answer)
    }

    @Test func theNameLimitHolds() {
        var cache = ResolverCache()
        for number in 0..<ResolverCache.nameLimit {
            cache.store(Self.answer, for: "\(number)", at: Self.moment(number))
        }
        #expect(cache.count == 256)
        // One that is held already needs no room.
        cache.store(Self.answer, for: "5", at: Self.moment(256))
        #expect(cache.count == 256)
        #expect(cache.answer(for: "0", at: Self.moment(256)) == Self.answer)
        // The next one takes the place of the one that would be forgotten first.
        cache.store(Self.answer, for: "new", at: Self.moment(257))
        #expect(cache.count == 256)
        #expect(cache.answer(for: "0", at: Self.moment(257)) == nil)
        #expect(cache.answer(for: "1", at: Self.moment(257)) == Self.answer)
        #expect(cache.answer(for: "new", at: Self.moment(257)) == Self.answer)
    }

    @Test func expiredEntriesAreReplacedFirst() {
        var cache = ResolverCache()
        cache.store(Self.answer, for: "kept", at: Self.start)
        for number in 1..<ResolverCache.nameLimit { cache.store(Self.unknown, for: "\(number)", at: Self.start) }
        cache.store(Self.answer, for: "new", at: Self.moment(1_000))
        #expect(cache.count == 2)
        #expect(cache.answer(for: "kept", at: Self.moment(1_000)) == Self.answer)
    }
}
