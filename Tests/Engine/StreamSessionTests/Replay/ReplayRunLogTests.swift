// Runs are written in a few bytes and read back as they were.
import Testing

@testable import StreamSession

@Suite struct ReplayRunLogTests {
    private static func read(_ log: ReplayRunLog) -> [ReplayRunLog.Run] {
        var runs: [ReplayRunLog.Run] = []
        var position = ReplayRunLog.Position.start
        while log.advance(&position) { runs.append(position.run) }
        return runs
    }

    @Test func anEmptyLogHasNoRun() {
        #expect(Self.read(ReplayRunLog()).isEmpty)
        #expect(ReplayRunLog().byteCount == 0)
    }

    @Test func runsOfAnyKindAndPositionAreReadBack() {
        let positions = [0, 1, -1, 63, 64, -64, -65, 65_535, Int.max, Int.min, 0, Int.min, Int.max, -1]
        var log = ReplayRunLog()
        var runs: [ReplayRunLog.Run] = []
        for kind in ReplaySlot.Kind.allCases {
            for outputIndex in positions {
                for partIndex in positions {
                    let slot = ReplaySlot(kind, outputIndex: outputIndex, partIndex: partIndex)
                    runs.append(ReplayRunLog.Run(slot: slot, end: (runs.last?.end ?? 0) + runs.count))
                    log.append(runs[runs.count - 1])
                }
            }
        }
        #expect(Self.read(log) == runs)
    }

    @Test(arguments: [1, 127, 128, 16_383, 16_384, 1 << 32, Int.max])
    func runsOfAnyLengthAreReadBack(length: Int) {
        var log = ReplayRunLog()
        log.append(ReplayRunLog.Run(slot: .text(1), end: length))
        log.append(ReplayRunLog.Run(slot: .text(2), end: length))
        #expect(Self.read(log).map(\.end) == [length, length])
    }

    @Test func aPositionIsReadFromAgain() {
        var log = ReplayRunLog()
        for index in 1...4 { log.append(ReplayRunLog.Run(slot: .text(index * 100), end: index)) }
        var position = ReplayRunLog.Position.start
        #expect(log.advance(&position))
        #expect(log.advance(&position))
        var again = position
        #expect(log.advance(&again))
        #expect(again.run == ReplayRunLog.Run(slot: .text(300), end: 3))
        #expect(position.run == ReplayRunLog.Run(slot: .text(200), end: 2))
        log.append(ReplayRunLog.Run(slot: .summary(1), end: 9))
        #expect(log.advance(&again))
        #expect(log.advance(&again))
        #expect(again.run == ReplayRunLog.Run(slot: .summary(1), end: 9))
        #expect(!log.advance(&again))
    }

    /// The sizes in the documentation of the log.
    @Test(arguments: [(1, 127, 5), (1, 128, 6), (127, 16_383, 6), (1, 16_384, 7)])
    func aRunTakesAFewBytes(first: Int, next: Int, byteCount: Int) {
        var log = ReplayRunLog()
        log.append(ReplayRunLog.Run(slot: .text(0), end: first))
        let before = log.byteCount
        log.append(ReplayRunLog.Run(slot: .text(1), end: first + next))
        #expect(log.byteCount - before == byteCount - 1)
        #expect(before == 4)
    }
}
