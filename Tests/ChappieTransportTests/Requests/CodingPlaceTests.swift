import ChappieTransport
import Foundation
import Testing

/// The place of a number that JSON cannot represent, where the encoder's error names less than all of it.
@Suite struct CodingPlaceTests {
    private struct Sheet: Encodable {
        struct Row: Encodable {
            var cells: [Double]
        }

        var title = "a"
        var factor = Double.nan
        var values = [1, -Double.infinity, .nan]
        var table = [[1, 2], [], [3, Double.nan]]
        var rows = [Row(cells: [0]), Row(cells: [4, .infinity])]
        var named = ["b": [Double.nan]]
        var whole = [1, 2.5]
    }

    private struct Name: CodingKey {
        let stringValue: String
        let intValue: Int?

        init(_ name: String) {
            self.stringValue = name
            self.intValue = nil
        }

        init(_ index: Int) {
            self.stringValue = "Index \(index)"
            self.intValue = index
        }

        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { self.init(intValue) }
    }

    private func place(_ path: [Name]) -> String {
        CodingPlace.words(path + CodingPlace.indexes(ofNumberAt: path, in: Sheet()))
    }

    @Test func arrayThatIsNamedAloneGetsTheIndexOfTheElement() {
        #expect(self.place([Name("values")]) == "values[1]")
        #expect(self.place([Name("rows"), Name(1), Name("cells")]) == "rows[1].cells[1]")
        #expect(self.place([Name("named"), Name("b")]) == "named.b[0]")
    }

    @Test func arrayOfArraysGetsEachIndex() {
        #expect(self.place([Name("table")]) == "table[2][1]")
        #expect(self.place([Name("table"), Name(2)]) == "table[2][1]")
    }

    @Test func completePathStaysAsItIs() {
        #expect(self.place([Name("values"), Name(1)]) == "values[1]")
        #expect(self.place([Name("factor")]) == "factor")
    }

    @Test func pathThatLeadsToNoSuchNumberStaysAsItIs() {
        #expect(self.place([Name("whole")]) == "whole")
        #expect(self.place([Name("title"), Name("b")]) == "title.b")
        #expect(self.place([Name("values"), Name(9)]) == "values[9]")
        #expect(self.place([]).isEmpty)
    }

    @Test func valueThatCannotBeEncodedHasNoPlaces() {
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }

        #expect(CodingPlace.indexes(ofNumberAt: [Name("a")], in: Refusing()).isEmpty)
    }
}
