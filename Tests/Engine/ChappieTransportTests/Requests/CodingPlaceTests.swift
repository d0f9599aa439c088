// The place of a number that JSON cannot represent.
import ChappieTransport
import Testing

@Suite struct CodingPlaceTests {
    private struct Row: Encodable {
        var name = "not a number"
        var cells: [Double]
    }

    private static func place(_ value: some Encodable) -> String? { CodingPlace.words(ofNumberIn: value) }

    @Test func elementOfAnArrayHasItsIndex() {
        #expect(Self.place(Row(cells: [1, -.infinity, .nan])) == "cells[1]")
        #expect(Self.place([Row(cells: [0]), Row(cells: [.nan])]) == "[1].cells[0]")
        #expect(Self.place([[1, 2], [], [3, Double.nan]]) == "[2][1]")
    }

    @Test func keyOfADictionaryIsNotNamed() {
        struct Sheet: Encodable {
            var rows: [String: [Row]]
            var counts: [Int: Double]?
        }

        #expect(Self.place(["secret": Double.nan]) == "*")
        #expect(Self.place(Sheet(rows: ["secret": [Row(cells: [.nan])]])) == "rows.*[0].cells[0]")
        #expect(Self.place(Sheet(rows: [:], counts: [7: .nan])) == "counts.*")
        #expect(Self.place(["a": ["b": ["c": Float.infinity]]]) == "*.*.*")
    }

    @Test func membersAreTakenByTheOrderOfTheirNames() {
        struct Pair: Encodable {
            var second = Double.nan
            var first = [0, Double.nan]
        }

        #expect(Self.place(Pair()) == "first[1]")
    }

    @Test func numberAloneHasAnEmptyPlace() { #expect(Self.place(Double.nan)?.isEmpty == true) }

    @Test func valueWithoutSuchANumberHasNone() {
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }

        #expect(Self.place(Row(cells: [1])) == nil)
        #expect(Self.place(Refusing()) == nil)
    }
}
