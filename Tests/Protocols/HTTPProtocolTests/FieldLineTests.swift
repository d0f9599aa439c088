// Tests of field lines (RFC 9112 section 5, RFC 9110 section 5).

import HTTPProtocol
import Testing

@Suite struct FieldLineTests {
    private static func read(_ lines: String) -> ReadResponse { ReadResponse.read("HTTP/1.1 304 x\r\n\(lines)\r\n") }

    @Test func linesKeepTheirOrderAndTheirCase() throws {
        let head = try #require(Self.read("b: 1\r\nA: 2\r\nB: 3\r\n").head)
        #expect(
            Array(head.fields) == [
                FieldSection.Line(name: "b", value: "1"), FieldSection.Line(name: "A", value: "2"),
                FieldSection.Line(name: "B", value: "3"),
            ])
    }

    @Test(arguments: ["set-x", "SET-X", "Set-X"])
    func linesAreFoundInAnyCase(name: String) throws {
        let fields = try #require(Self.read("Set-X: 1\r\nset-y: 2\r\nSET-X: 3\r\nset-xx: 4\r\n").head).fields
        #expect(fields.values(of: name) == ["1", "3"])
        #expect(fields.value(of: name) == "1, 3")
    }

    @Test func onlyLettersHaveCase() throws {
        let fields = try #require(Self.read("a^: 1\r\n").head).fields
        #expect(fields.value(of: "a~") == nil)
        #expect(fields.value(of: "A^") == "1")
    }

    @Test func fieldThatIsAbsentHasNoValueAndAnEmptyOneHasOne() throws {
        let fields = try #require(Self.read("a:\r\nb:\r\nb: x\r\n").head).fields
        #expect(fields.value(of: "a") == "")
        #expect(fields.value(of: "b") == ", x")
        #expect(fields.value(of: "c") == nil)
        #expect(fields.values(of: "c") == [])
        #expect(fields.value(of: "") == nil)
    }

    @Test(arguments: ["a:b", "a: b", "a:\tb", "a:  b", "a: b ", "a: b\t \t", "a:\t \tb"])
    func whiteSpaceAroundAValueIsNotPartOfIt(line: String) {
        #expect(Self.read(line + "\r\n").fields == ["a: b"])
    }

    @Test func whiteSpaceInAValueIsKept() {
        #expect(Self.read("a: b  c\td\r\n").fields == ["a: b  c\td"])
    }

    @Test func everyTokenByteMayBeInAName() {
        let name = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        #expect(Self.read("\(name): x\r\n").fields == ["\(name): x"])
    }

    @Test func everyOtherByteInANameIsAnError() {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min...UInt8.max where !token.contains(byte) && byte != UInt8(ascii: "\n") {
            // A colon ends the name, and the value may have another one.
            guard byte != UInt8(ascii: ":") else { continue }
            let bytes = Array("HTTP/1.1 304 x\r\na".utf8) + [byte] + Array("b: c\r\n\r\n".utf8)
            #expect(ReadResponse.read(bytes).error == .invalidFieldLine, "byte \(byte)")
        }
    }

    @Test(arguments: [
        "a : b", "a\t: b", ": b", ":", "a", "a b", "a\r: b", "\u{e9}: b", "\r\ra: b", "Transfer-Encoding : chunked",
        "HTTP/1.1 200 OK",
    ])
    func lineWithoutANameRightBeforeItsColonIsAnError(line: String) {
        #expect(Self.read(line + "\r\n").error == .invalidFieldLine)
    }

    @Test func everyControlCharacterInAValueIsAnErrorButTheTab() {
        for byte in UInt8.min...UInt8.max where byte != UInt8(ascii: "\n") {
            let bytes = Array("HTTP/1.1 304 x\r\na: b".utf8) + [byte] + Array("c\r\n\r\n".utf8)
            let isForbidden = byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7F
            #expect(ReadResponse.read(bytes).error == (isForbidden ? .controlCharacter(byte) : nil))
        }
    }

    @Test(arguments: ["a: b\rc\r\n", "a: b\r\r\n", "a: \r\r\n", "a: b\r\n c\rd\r\n"])
    func singleCarriageReturnIsAnError(lines: String) {
        #expect(Self.read(lines).error == .controlCharacter(0x0D))
    }

    @Test func singleLineFeedEndsALine() {
        let response = ReadResponse.read("HTTP/1.1 200 OK\na: b\nc: d\r\nContent-Length: 1\n\nx!")
        #expect(response.fields == ["a: b", "c: d", "Content-Length: 1"])
        #expect(response.contentText == "x")
    }

    @Test func sectionsAreEqualWhenTheirLinesAre() {
        #expect(Self.read("a: b\r\n \r\n").head == Self.read("a:b\r\n").head)
        #expect(Self.read("a: b\r\n").head != Self.read("A: b\r\n").head)
        #expect(Self.read("ab: c\r\n").head != Self.read("a: bc\r\n").head)
    }

    // MARK: Values that are not UTF-8

    @Test func bytesThatAreNotUTF8AreReplaced() throws {
        let bytes = Array("HTTP/1.1 304 x\r\na: b".utf8) + [0xFF, 0xC3] + Array("c\r\n\r\n".utf8)
        #expect(ReadResponse.read(bytes).head?.fields.value(of: "a") == "b\u{FFFD}\u{FFFD}c")
    }

    @Test func textInUTF8IsKept() {
        #expect(Self.read("a: žluťoučký\u{301} 🐎\r\n").fields == ["a: žluťoučký\u{301} 🐎"])
    }

    @Test func combiningMarkBehindASpaceIsNotTrimmed() {
        #expect(Self.read("a: \u{301}b\r\n").head?.fields.value(of: "a").map { Array($0.utf8) } == [0xCC, 0x81, 0x62])
    }

    // MARK: Line folding (RFC 9112 section 5.2)

    @Test(arguments: [
        ("a: b\r\n c\r\n", "b c"), ("a: b \t\r\n\t  c \r\n", "b c"), ("a:\r\n b\r\n", "b"), ("a: b\r\n \r\n", "b"),
        ("a: b\r\n \r\n c\r\n", "b  c"), ("a:\r\n \r\n\tb\r\n", "b"), ("a: b\n c\n", "b c"),
        ("a: b\r\n c: d\r\n", "b c: d"),
        ("a: b\r\n\tc\r\n  d\r\n", "b c d"), ("a: b\r\n c\r\n \r\n", "b c"), ("a:\r\n \r\n", ""),
    ])
    func lineBreakInAValueBecomesASpace(lines: String, value: String) {
        #expect(Self.read(lines).fields == ["a: \(value)"])
        #expect(Self.read("x: y\r\n\(lines)z: w\r\n").fields == ["x: y", "a: \(value)", "z: w"])
    }

    @Test(arguments: [" a: b\r\n", "\ta: b\r\n", " \r\n", "  a: b\r\nc: d\r\n"])
    func whiteSpaceBeforeTheFirstLineIsAnError(lines: String) {
        #expect(Self.read(lines).error == .invalidFieldLine)
    }

    @Test func foldedLengthIsRead() {
        let response = ReadResponse.read("HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nokay")
        #expect(response.contentText == "ok")
        #expect(ReadResponse.read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n").error == .invalidContentLength)
    }

    @Test func foldedTransferEncodingIsRead() {
        let response = ReadResponse.read(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        #expect(response.contentText == "ok")
        #expect(
            ReadResponse.read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chun\r\n ked\r\n\r\n").error
                == .unsupportedTransferCoding)
    }
}
