// The order of attempts, for every order in which sockets can connect and fail.

import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct AddressRaceTests {
    private static let refused = TransportFailure.Cause.unreachable(code: 111)
    private static let noRoute = TransportFailure.Cause.unreachable(code: 101)

    // MARK: Order

    @Test(arguments: [
        (["a"], ["a"]),
        (["a", "b"], ["a", "b"]),
        (["::1", "::2"], ["::1", "::2"]),
        (["::1", "a"], ["::1", "a"]),
        (["a", "::1"], ["a", "::1"]),
        (["::1", "::2", "a", "b"], ["::1", "a", "::2", "b"]),
        (["a", "b", "::1", "::2"], ["a", "::1", "b", "::2"]),
        (["a", "::1", "::2", "b"], ["a", "::1", "b", "::2"]),
        (["::1", "::2", "::3", "a"], ["::1", "a", "::2", "::3"]),
        (["::1", "a", "b", "c"], ["::1", "a", "b", "c"]),
        (["a", "b", "c", "::1"], ["a", "::1", "b", "c"]),
    ])
    func theFamiliesTakeTurns(_ addresses: [String], _ expected: [String]) {
        #expect(AddressRace.interleaved(addresses) == expected)
        var race = AddressRace(addresses: addresses)
        for (index, address) in expected.enumerated() {
            #expect(race.hasNext)
            #expect(race.delayPassed() == .start(attempt: index, address: address))
        }
        #expect(!race.hasNext)
        #expect(race.delayPassed() == .wait)
    }

    // MARK: One address

    @Test func theOnlyAddressWins() {
        var race = AddressRace(addresses: ["a"])
        #expect(race.delayPassed() == .start(attempt: 0, address: "a"))
        #expect(race.connected(attempt: 0) == .win(attempt: 0))
        #expect(!race.hasNext)
    }

    @Test func failureOfTheOnlyAddressEndsTheRace() {
        var race = AddressRace(addresses: ["a"])
        #expect(race.delayPassed() == .start(attempt: 0, address: "a"))
        #expect(race.failed(attempt: 0, Self.refused) == .lose(Self.refused))
    }

    // MARK: Several

    @Test func failureStartsTheNextAttemptAtOnce() {
        var race = AddressRace(addresses: ["a", "b"])
        #expect(race.delayPassed() == .start(attempt: 0, address: "a"))
        #expect(race.failed(attempt: 0, Self.refused) == .start(attempt: 1, address: "b"))
        #expect(race.failed(attempt: 1, Self.noRoute) == .lose(Self.noRoute))
    }

    @Test func failureBesideOtherAttemptsStartsTheNext() {
        var race = AddressRace(addresses: ["a", "b", "c"])
        _ = race.delayPassed()
        _ = race.delayPassed()
        #expect(race.failed(attempt: 0, Self.refused) == .start(attempt: 2, address: "c"))
        #expect(race.failed(attempt: 2, Self.refused) == .wait)
        #expect(race.connected(attempt: 1) == .win(attempt: 1))
    }

    @Test func theLastFailureIsTheReason() {
        var race = AddressRace(addresses: ["a", "b"])
        _ = race.delayPassed()
        _ = race.delayPassed()
        #expect(race.failed(attempt: 1, Self.refused) == .wait)
        #expect(race.failed(attempt: 0, Self.noRoute) == .lose(Self.noRoute))
    }

    @Test(arguments: [0, 1, 2])
    func firstConnectedAttemptWins(_ winner: Int) {
        var race = AddressRace(addresses: ["a", "b", "c"])
        for _ in 0..<3 { _ = race.delayPassed() }
        #expect(race.connected(attempt: winner) == .win(attempt: winner))
        for other in 0..<3 {
            #expect(race.connected(attempt: other) == .ignore)
            #expect(race.failed(attempt: other, Self.refused) == .ignore)
        }
        #expect(race.delayPassed() == .ignore)
    }

    @Test func aWinnerLeavesTheOthersUntried() {
        var race = AddressRace(addresses: ["a", "b"])
        _ = race.delayPassed()
        #expect(race.hasNext)
        #expect(race.connected(attempt: 0) == .win(attempt: 0))
        #expect(!race.hasNext)
        #expect(race.delayPassed() == .ignore)
    }

    // MARK: What comes late, twice, or from nowhere

    @Test func aSocketFailsOnce() {
        var race = AddressRace(addresses: ["a", "b"])
        _ = race.delayPassed()
        _ = race.delayPassed()
        #expect(race.failed(attempt: 0, Self.refused) == .wait)
        #expect(race.failed(attempt: 0, Self.refused) == .ignore)
        #expect(race.connected(attempt: 0) == .ignore)
        #expect(race.connected(attempt: 1) == .win(attempt: 1))
    }

    @Test func noInputChangesALostRace() {
        var race = AddressRace(addresses: ["a"])
        _ = race.delayPassed()
        _ = race.failed(attempt: 0, Self.refused)
        #expect(race.failed(attempt: 0, Self.refused) == .ignore)
        #expect(race.connected(attempt: 0) == .ignore)
        #expect(race.delayPassed() == .ignore)
    }

    @Test func anAttemptThatWasNeverMadeIsIgnored() {
        var race = AddressRace(addresses: ["a", "b"])
        #expect(race.connected(attempt: 0) == .ignore)
        #expect(race.failed(attempt: 0, Self.refused) == .ignore)
        _ = race.delayPassed()
        #expect(race.connected(attempt: 1) == .ignore)
        #expect(race.failed(attempt: 7, Self.refused) == .ignore)
        #expect(race.hasNext)
    }

    /// Every order of up to five addresses' ends and delays: each is started once and in order, and the race is
    /// decided exactly when one has connected or all have failed.
    @Test(arguments: 1...5)
    func everyOrderIsDecidedOnce(_ count: Int) {
        var order = SeededGenerator(state: UInt64(count))
        for _ in 0..<2_000 {
            var race = AddressRace(addresses: (0..<count).map { "\($0)" })
            var running: [Int] = []
            var started = 0
            var failed = 0
            var action = race.delayPassed()
            while true {
                if case .start(let attempt, let address) = action {
                    #expect(attempt == started)
                    #expect(address == "\(started)")
                    running.append(attempt)
                    started += 1
                }
                if case .lose = action { break }
                #expect(race.hasNext == (started < count))
                let place = Int.random(in: 0..<running.count, using: &order)
                switch Int.random(in: 0..<4, using: &order) {
                case 0:
                    let winner = running[place]
                    #expect(race.connected(attempt: winner) == .win(attempt: winner))
                    action = .win(attempt: winner)
                case 1:
                    action = race.delayPassed()
                default:
                    failed += 1
                    action = race.failed(attempt: running.remove(at: place), Self.refused)
                    #expect((action == .lose(Self.refused)) == (failed == count))
                }
                if case .win = action { break }
            }
            #expect(race.delayPassed() == .ignore)
        }
    }
}
