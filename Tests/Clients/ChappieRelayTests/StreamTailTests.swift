import ChappieTransport
import Foundation
import StreamTransport
import Testing

@testable import ChappieRelay

/// The newest records of a stream, and the readers that are given them.
@Suite struct StreamTailTests {
    /// A reader that takes as much as it is told.
    private final class Reader: Sendable {
        let signal = Signal()
        let taken = LockedValue<[[UInt8]]>([])
        let room: LockedValue<Int>

        init(room: Int = .max) { self.room = LockedValue(room) }

        func offer(_ bytes: [UInt8], _ count: Int) -> Bool {
            guard self.room.withLock({ $0 }) > 0 else { return false }
            self.room.withLock { $0 -= 1 }
            self.taken.withLock { $0.append(bytes) }
            return true
        }
    }

    /// The number of times that the form was asked for bytes.
    private let encodings = LockedValue(0)

    private var form: ChappieHubForm {
        ChappieHubForm(name: "positions") { [encodings] events in
            encodings.withLock { $0 += 1 }
            return events.map { UInt8($0.position) }
        }
    }

    private func entries(_ positions: ClosedRange<Int>, end: JournaledEnd? = nil) -> [StreamTail.Entry] {
        positions.map { position in
            let record = position == positions.upperBound ? end.map { JournaledRecord.end($0) } : nil
            return StreamTail.Entry(
                position: position, record: record ?? .event(.textDelta("\(position)")), byteCount: 1)
        }
    }

    private func pass(_ tail: StreamTail, to reader: Reader, after position: Int) -> Bool {
        tail.passRecords(to: reader.signal, after: position, in: self.form) { reader.offer($0, $1) }
    }

    @Test func directReadersShareTheBytesOfRecords() async {
        let tail = StreamTail()
        let readers = (0..<5).map { _ in Reader() }
        tail.begin(behind: 2)
        for reader in readers { _ = tail.enter(reader.signal) }
        // A reader that has less, or was never entered, looks for itself.
        #expect(!self.pass(tail, to: readers[0], after: 1))
        #expect(!self.pass(tail, to: Reader(), after: 2))
        for reader in readers { #expect(self.pass(tail, to: reader, after: 2)) }
        #expect(tail.isUsed && tail.timeWithoutReaders == .zero)
        tail.append(self.entries(1...4))
        tail.append(self.entries(5...5))
        for reader in readers { #expect(reader.taken.withLock { $0 } == [[3, 4], [5]]) }
        #expect(self.encodings.withLock { $0 } == 2)
        tail.leave(readers[0].signal)
        tail.append(self.entries(6...6))
        #expect(readers[0].taken.withLock { $0.count } == 2)
        #expect(tail.endPassing(to: readers[1].signal) == 6)
        #expect(tail.endPassing(to: readers[1].signal) == nil)
    }

    @Test func aReaderThatTakesNoMoreLooksForTheRestItself() async {
        let tail = StreamTail()
        let (slow, quick) = (Reader(room: 1), Reader())
        tail.begin(behind: 0)
        for reader in [slow, quick] {
            _ = tail.enter(reader.signal)
            #expect(self.pass(tail, to: reader, after: 0))
        }
        for position in 1...3 { tail.append(self.entries(position...position)) }
        await slow.signal.next()
        #expect(tail.endPassing(to: slow.signal) == 1)
        guard case .records(let rest) = tail.read(after: 1) else {
            Issue.record("no records")
            return
        }
        #expect(rest.map(\.position) == [2, 3])
        // It can go on where it has all again.
        #expect(!self.pass(tail, to: slow, after: 1))
        slow.room.withLock { $0 = 9 }
        #expect(self.pass(tail, to: slow, after: 3))
        tail.append(self.entries(4...4))
        #expect(slow.taken.withLock { $0 } == [[1], [4]] && quick.taken.withLock { $0 } == [[1], [2], [3], [4]])
    }

    @Test func anEndIsForTheReadersThemselves() async {
        let tail = StreamTail()
        let (first, second) = (Reader(), Reader())
        tail.begin(behind: 0)
        for reader in [first, second] { _ = tail.enter(reader.signal) }
        #expect(self.pass(tail, to: first, after: 0))
        // Also of the records before it, so that the order is one reader's.
        tail.append(self.entries(1...2, end: JournaledEnd(status: .completed)))
        await first.signal.next()
        #expect(tail.endPassing(to: first.signal) == 0 && first.taken.withLock { $0.isEmpty })
        #expect(self.pass(tail, to: second, after: 2))
        tail.end(.failure(.shutDown))
        await second.signal.next()
        #expect(tail.endPassing(to: second.signal) == 2)
        #expect(!self.pass(tail, to: second, after: 2))
    }

    @Test func recordsBehindAGapAreReadFromTheJournal() async {
        let tail = StreamTail()
        let reader = Reader()
        tail.begin(behind: 0)
        _ = tail.enter(reader.signal)
        #expect(self.pass(tail, to: reader, after: 0))
        tail.append(self.entries(5...6))
        await reader.signal.next()
        #expect(tail.endPassing(to: reader.signal) == 0)
        guard case .inJournal = tail.read(after: 0) else {
            Issue.record("records were passed over")
            return
        }
    }

    @Test func recordsThatTheJournalHasLostEndTheReader() async throws {
        let journal = ChappieMemoryJournal()
        let url = try #require(URL(string: "http://127.0.0.1:9/v1"))
        let transport = ChappieStreamingTransport(configuration: ChappieTransportConfiguration(baseURL: url))
        let hub = ChappieHub(transport: transport, journal: journal)
        let stream = try await journal.create(ChappieNewStream(header: []), owner: "a", lease: .seconds(600))
        let signal = Signal()
        let tail = try hub.enter(signal, of: stream.id)
        _ = tail.setFed(true)
        tail.begin(behind: 5)
        await #expect(throws: ChappieHubError.failed(.recordsLost)) {
            for try await _ in hub.events(of: stream.id) {}
        }
        hub.leave(signal, of: stream.id, tail)
        _ = tail.setFed(false)
        await hub.shutdown(gracePeriod: .zero)
    }
}
