import ChappieTransport
import Foundation
import Testing

@testable import ChappieRelay

extension JournalSubject {
    static let sealed = JournalSubject(testDescription: "memory, encrypted") {
        let (journal, pass) = try Self.memory.open()
        return (try ChappieSealedJournal(journal, keys: [SealedJournalTests.key(1)]), pass)
    }
}

/// What an encrypted journal keeps, and what it reads of what others keep.
@Suite struct SealedJournalTests {
    private let memory = ChappieMemoryJournal()
    private let writer = ChappieJournalWriter(owner: "a", epoch: 1)

    static func key(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    private func sealed(_ keys: UInt8...) throws -> ChappieSealedJournal {
        try ChappieSealedJournal(self.memory, keys: keys.map(Self.key))
    }

    private func create(_ journal: any ChappieJournal, key: String? = nil) async throws -> ChappieStreamID {
        try await journal.create(
            ChappieNewStream(key: key, header: Array("header".utf8)), owner: "a", lease: JournalTests.lease
        ).id
    }

    private func append(_ journal: any ChappieJournal, _ id: ChappieStreamID, _ texts: String...) async throws {
        try await journal.append(
            ChappieJournalBatch(firstPosition: 1, records: texts.map { Array($0.utf8) }), to: id, by: self.writer,
            lease: JournalTests.lease)
    }

    private func texts(_ journal: any ChappieJournal, _ id: ChappieStreamID) async throws -> [String] {
        try await journal.records(of: id, after: 0, byteCount: .max).map { String(decoding: $0.content, as: UTF8.self) }
    }

    @Test func aFileHasNoContent() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sealed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("streams.sqlite").path
        for isSealed in [false, true] {
            let file = try ChappieSQLiteJournal(path: path)
            let journal: any ChappieJournal = isSealed ? try ChappieSealedJournal(file, keys: [Self.key(1)]) : file
            let stream = try await journal.create(
                ChappieNewStream(key: "canary-name", header: Array("canary-header".utf8)), owner: "a",
                lease: JournalTests.lease)
            try await self.append(journal, stream.id, "canary-record", "canary-record")
            #expect(try await self.texts(journal, stream.id) == ["canary-record", "canary-record"])
            await journal.shutdown()
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            let kept = try names.map { try Data(contentsOf: folder.appendingPathComponent($0)) }.reduce(Data(), +)
            // The test finds what is not encrypted.
            #expect((kept.range(of: Data("canary".utf8)) == nil) == isSealed)
            try FileManager.default.removeItem(at: folder)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        try FileManager.default.removeItem(at: folder)
    }

    @Test func equalRecordsDifferAndABatchIsTheSameAgain() async throws {
        let journal = try self.sealed(1)
        let (first, second) = (try await self.create(journal), try await self.create(journal))
        for id in [first, second] { try await self.append(journal, id, "same", "same") }
        // As after an answer that was lost: nothing is written twice.
        try await self.append(journal, first, "same", "same")
        #expect(try await self.texts(journal, first) == ["same", "same"])
        var kept: [[UInt8]] = []
        for id in [first, second] {
            kept += try await self.memory.records(of: id, after: 0, byteCount: .max).map(\.content)
        }
        #expect(Set(kept).count == 4)
        #expect(kept.allSatisfy { $0.count == 4 + JournalCipher.overhead })
    }

    @Test func aKeyThatIsReplacedStillOpens() async throws {
        let id = try await self.create(try self.sealed(1), key: "chat 7")
        try await self.append(try self.sealed(1), id, "old")
        let both = try self.sealed(2, 1)
        #expect(try await both.stream(id)?.header == Array("header".utf8))
        #expect(try await self.texts(both, id) == ["old"])
        // Its name is known under either key.
        #expect(try await self.create(both, key: "chat 7") == id)
        #expect(try await both.stream(key: "chat 7")?.id == id)
        let new = try await self.create(both, key: "chat 8")
        #expect(try await self.sealed(2).stream(new)?.key == "chat 8")
        await #expect(throws: ChappieJournalError.self) { _ = try await self.sealed(1).stream(new) }
    }

    @Test func whatCannotBeOpenedIsDamagedAndNotTaken() async throws {
        let id = try await self.create(try self.sealed(1))
        try await self.append(try self.sealed(1), id, "text")
        let plain = try await self.create(self.memory)
        try await self.append(self.memory, plain, "text")
        for (journal, id) in [(try self.sealed(2), id), (try self.sealed(1), plain)] {
            let words = "of \(id) is not encrypted with a key of this process"
            await #expect(throws: ChappieJournalError.damaged("the header \(words)")) {
                _ = try await journal.stream(id)
            }
            await #expect(throws: ChappieJournalError.damaged("record 1 \(words)")) {
                _ = try await self.texts(journal, id)
            }
            await #expect(throws: ChappieJournalError.self) {
                _ = try await journal.take(id, owner: "b", lease: JournalTests.lease)
            }
        }
    }

    @Test func anythingThatIsChangedOrMovedIsNotOpened() throws {
        let cipher = try #require(JournalCipher(secrets: [Self.key(1)]))
        let id = ChappieStreamID()
        for content in [[], Array("text".utf8), [UInt8](repeating: 7, count: 100_000)] {
            let sealed = try cipher.seal(content, of: id, at: 3)
            #expect(try cipher.open(sealed, of: id, at: 3) == content)
            #expect(try cipher.open(sealed, of: id, at: 4) == nil)
            #expect(try cipher.open(sealed, of: ChappieStreamID(), at: 3) == nil)
            #expect(try cipher.open(sealed + [0], of: id, at: 3) == nil)
            for place in Set([0, 1, 12, 13, sealed.count / 2, sealed.count - 1]) where place < sealed.count {
                var changed = sealed
                changed[place] ^= 1
                #expect(try cipher.open(changed, of: id, at: 3) == nil, "byte \(place)")
            }
            for count in [0, 1, 28, sealed.count - 1] where count < sealed.count {
                #expect(try cipher.open(Array(sealed.prefix(count)), of: id, at: 3) == nil)
            }
        }
    }

    @Test func keysHave32Bytes() throws {
        #expect(throws: ChappieArgumentError.self) { try ChappieSealedJournal(self.memory, keys: []) }
        #expect(throws: ChappieArgumentError.self) { try ChappieSealedJournal(self.memory, keys: [Self.key(1), [1]]) }
        let digits = String(repeating: "0aF1", count: 16)
        #expect(ChappieSealedJournal.keys(of: digits)?.first?.prefix(2) == [0x0a, 0xf1])
        #expect(ChappieSealedJournal.keys(of: "\(digits), \(digits)")?.count == 2)
        for text in ["", ",", digits + ",", digits.dropLast() + "g", digits + "00", digits.dropLast() + "é"] {
            #expect(ChappieSealedJournal.keys(of: String(text)) == nil, "\(text)")
        }
    }
}
