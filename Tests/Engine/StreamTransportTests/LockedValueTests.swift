// A value behind a lock.

import StreamTransport
import Testing

@Suite struct LockedValueTests {
    private final class Owned: Sendable {}

    @Test func copiesShareTheValue() {
        let first = LockedValue([1])
        let second = first
        second.withLock { $0.append(2) }
        #expect(first.withLock { $0 } == [1, 2])
    }

    @Test func theValueIsReleasedWithItsLastCopy() {
        weak var observed: Owned?
        do {
            let owned = Owned()
            observed = owned
            let first = LockedValue<Owned?>(owned)
            let second = first
            #expect(second.withLock { $0 } === owned)
        }
        #expect(observed == nil)
    }

    @Test func oneTaskAtATimeHasTheValue() async {
        let count = LockedValue(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<10_000 { count.withLock { $0 += 1 } } }
            }
        }
        #expect(count.withLock { $0 } == 80_000)
    }

    @Test func anErrorGivesTheLockBack() {
        struct Failure: Error {}
        let value = LockedValue(1)
        #expect(throws: Failure.self) { try value.withLock { _ in throw Failure() } }
        #expect(value.withLock { $0 } == 1)
    }
}
