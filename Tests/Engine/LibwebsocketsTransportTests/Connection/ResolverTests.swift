// The threads of the resolver, with look-ups of the test's own and with the system's.

import Dispatch
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite(.timeLimit(.minutes(10))) struct ResolverTests {
    /// A look-up that takes as long as the test wants.
    private final class HeldLookUp: Sendable {
        private let names = LockedValue<[String]>([])
        private let gate = DispatchSemaphore(value: 0)
        private let (begun, beginning) = AsyncStream<String>.makeStream()

        /// The names that were looked up, in their order.
        var all: [String] { self.names.withLock { $0 } }

        @Sendable func callAsFunction(_ name: String) -> Resolver.Answer {
            self.names.withLock { $0.append(name) }
            self.beginning.yield(name)
            self.gate.wait()
            return .success(["127.0.0.\(name.utf8.count)"])
        }

        /// Returns when that many look-ups more have begun.
        func wait(forBegun count: Int) async {
            var iterator = self.begun.makeAsyncIterator()
            for _ in 0..<count { _ = await iterator.next() }
        }

        func letGo(_ count: Int) {
            for _ in 0..<count { self.gate.signal() }
        }
    }

    private static func resolve(_ host: String, with resolver: Resolver) async -> Resolver.Answer {
        await withCheckedContinuation { continuation in
            switch resolver.resolve(host, deliver: { continuation.resume(returning: $0) }) {
            case .answered(let answer): continuation.resume(returning: answer)
            case .pending: break
            }
        }
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("::1", true), ("2001:db8::1", true), ("::ffff:1.2.3.4", true), ("0.0.0.0", true),
        ("localhost", false), ("", false), ("127.1", false), ("1.2.3.4.5", false), ("256.1.1.1", false),
        ("[::1]", false), ("::1%lo", false), (" 127.0.0.1", false), ("0x7f000001", false),
    ])
    func anAddressNeedsNoLookUp(_ host: String, _ isNumeric: Bool) {
        #expect(Resolver.isNumeric(host) == isNumeric)
    }

    // MARK: The system

    @Test func localhostIsLoopback() async throws {
        let addresses = try await Self.resolve("localhost", with: Resolver()).get()
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0 == "::1" || $0.hasPrefix("127.") })
        #expect(Set(addresses).count == addresses.count)
    }

    /// With `AI_ADDRCONFIG` it is unknown where there is no other address of its family.
    @Test func anAddressOfVersion6IsFoundOnAMachineThatHasNoOther() {
        #expect(SystemLookup.addresses(of: "::1") == .success(["::1"]))
        #expect(SystemLookup.addresses(of: "127.0.0.1") == .success(["127.0.0.1"]))
    }

    @Test func aNameThatCannotExistIsUnresolvable() async {
        guard case .failure(.unresolvable) = await Self.resolve("nonexistent.invalid", with: Resolver()) else {
            Issue.record("it has an address")
            return
        }
    }

    // MARK: Sharing

    @Test func concurrentCallersShareOneLookUp() async {
        let lookUp = HeldLookUp()
        let resolver = Resolver(lookUp: lookUp.callAsFunction)
        let asked = AsyncStream<Void>.makeStream()
        let answers = await withTaskGroup(of: Resolver.Answer?.self) { group in
            for number in 0..<50 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        // Case does not tell names apart.
                        let outcome = resolver.resolve(number.isMultiple(of: 2) ? "host" : "HOST") {
                            continuation.resume(returning: $0)
                        }
                        asked.continuation.yield()
                        if case .answered(let answer) = outcome { continuation.resume(returning: answer) }
                    }
                }
            }
            var iterator = asked.stream.makeAsyncIterator()
            for _ in 0..<50 { _ = await iterator.next() }
            lookUp.letGo(1)
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: .success(["127.0.0.4"]), count: 50))
        #expect(lookUp.all == ["host"])
    }

    @Test func anAnswerIsKnownTheNextTimeUntilItIsForgotten() async {
        let lookUp = HeldLookUp()
        // Time stands still: no answer expires, however busy the machine is.
        let start = ContinuousClock.now
        let resolver = Resolver(lookUp: lookUp.callAsFunction, now: { start })
        lookUp.letGo(2)
        #expect(await Self.resolve("host", with: resolver) == .success(["127.0.0.4"]))
        guard case .answered(.success(["127.0.0.4"])) = resolver.resolve("Host", deliver: { _ in }) else {
            Issue.record("it was looked up again")
            return
        }
        resolver.forget("HOST")
        #expect(await Self.resolve("host", with: resolver) == .success(["127.0.0.4"]))
        #expect(lookUp.all == ["host", "host"])
    }

    // MARK: Cancelling

    @Test func cancelledCallerReceivesNoAnswer() async {
        let lookUp = HeldLookUp()
        let resolver = Resolver(lookUp: lookUp.callAsFunction)
        let delivered = LockedValue<[Int]>([])
        guard
            case .pending(let ticket) = resolver.resolve("host", deliver: { _ in delivered.withLock { $0.append(1) } })
        else {
            Issue.record("nobody can know")
            return
        }
        await lookUp.wait(forBegun: 1)
        resolver.cancel(ticket)
        resolver.cancel(ticket)
        async let second = Self.resolve("host", with: resolver)
        lookUp.letGo(2)
        #expect(await second == .success(["127.0.0.4"]))
        #expect(delivered.withLock { $0 }.isEmpty)
    }

    @Test func lookUpWithoutCallersIsNotStarted() async {
        let lookUp = HeldLookUp()
        // Time stands still: no look-up gets stuck, however busy the machine is.
        let start = ContinuousClock.now
        let resolver = Resolver(lookUp: lookUp.callAsFunction, now: { start })
        var tickets: [LookupQueue.Ticket] = []
        for number in 0..<8 { _ = resolver.resolve("\(number)") { _ in } }
        await lookUp.wait(forBegun: 8)
        for number in 0..<100 {
            if case .pending(let ticket) = resolver.resolve("cancelled \(number)", deliver: { _ in }) {
                tickets.append(ticket)
            }
        }
        for ticket in tickets { resolver.cancel(ticket) }
        async let last = Self.resolve("last", with: resolver)
        lookUp.letGo(9)
        #expect(await last == .success(["127.0.0.4"]))
        #expect(lookUp.all.dropFirst(8) == ["last"])
    }

    // MARK: Stuck names

    @Test func unansweredNamesDelayNoOther() async {
        let lookUp = HeldLookUp()
        let resolver = Resolver { name in
            name.hasPrefix("stuck") ? lookUp(name) : .success(["127.0.0.1"])
        }
        for number in 0..<8 { _ = resolver.resolve("stuck \(number)") { _ in } }
        #expect(await Self.resolve("host", with: resolver) == .success(["127.0.0.1"]))
        lookUp.letGo(8)
    }

    @Test func fiveHundredConcurrentLookUpsAreAnswered() async {
        let resolver = Resolver { .success([$0]) }
        let count = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<500 {
                group.addTask { await Self.resolve("\(number)", with: resolver) == .success(["\(number)"]) }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(count == 500)
    }
}
