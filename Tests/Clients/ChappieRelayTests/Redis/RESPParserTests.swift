import ChappieRelay
import Testing

@Suite struct RESPParserTests {
    /// Reads pieces; returns the values, and the fault at the end if there is one.
    private func read(
        _ pieces: [ArraySlice<UInt8>], limits: RESPParser.Limits = RESPParser.Limits()
    ) -> (values: [RESPValue], fault: RESPError?) {
        var parser = RESPParser(limits: limits)
        var values: [RESPValue] = []
        for piece in pieces {
            parser.append(piece)
            do throws(RESPError) {
                while let value = try parser.next() { values.append(value) }
            } catch {
                return (values, error)
            }
        }
        return (values, nil)
    }

    private func read(_ text: String, limits: RESPParser.Limits = RESPParser.Limits()) -> (
        values: [RESPValue], fault: RESPError?
    ) {
        self.read([Array(text.utf8)[...]], limits: limits)
    }

    @Test(
        arguments: [
            ("+OK\r\n", .simple("OK")), ("+\r\n", .simple("")), ("-ERR no\r\n", .error("ERR no")),
            (":0\r\n", .integer(0)), (":-12\r\n", .integer(-12)),
            (":9223372036854775807\r\n", .integer(.max)), (":-9223372036854775808\r\n", .integer(.min)),
            ("$3\r\na\r\n\r\n", .bulk([0x61, 0x0d, 0x0a])), ("$0\r\n\r\n", .bulk([])), ("$-1\r\n", .null),
            ("*0\r\n", .array([])), ("*-1\r\n", .null),
            (
                "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n$-1\r\n+y\r\n",
                .array([.integer(1), .array([.bulk([0x78]), .null]), .simple("y")])
            ),
        ] as [(String, RESPValue)])
    func aValueIsRead(_ text: String, _ value: RESPValue) {
        let (values, fault) = self.read(text + text)
        #expect(values == [value, value] && fault == nil)
        // A value is complete with its last byte.
        #expect(self.read(String(text.unicodeScalars.dropLast().map(Character.init))).values.isEmpty)
    }

    private static let stream = "+OK\r\n*2\r\n$4\r\nab\r\n\r\n*2\r\n:-7\r\n$-1\r\n-NO way\r\n*0\r\n$0\r\n\r\n"

    @Test func anySplitGivesTheSameValues() {
        let bytes = Array(Self.stream.utf8)
        let whole = self.read([bytes[...]])
        #expect(whole.values.count == 5 && whole.fault == nil)
        for first in 0...bytes.count {
            for second in first...bytes.count {
                let split = self.read([bytes[..<first], bytes[first..<second], bytes[second...]])
                #expect(split == whole)
            }
        }
        #expect(self.read(bytes.indices.map { bytes[$0...$0] }) == whole)
    }

    @Test(
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n", .unknownType(0x48)), ("\r\n", .unknownType(0x0d)),
            ("%1\r\n+a\r\n+b\r\n", .unknownType(0x25)), ("+a\n", .malformedLine), ("+a\rb\r\n", .malformedLine),
            (":\r\n", .malformedNumber), (":+1\r\n", .malformedNumber), (":1x\r\n", .malformedNumber),
            (":9223372036854775808\r\n", .malformedNumber), (":12345678901234567890\r\n", .malformedNumber),
            ("$-2\r\n", .malformedNumber), ("*-2\r\n", .malformedNumber), ("$1\r\nabc", .missingTerminator),
            ("$536870913\r\n", .bulkTooLarge(limit: 512 << 20)), ("*1048577\r\n", .tooManyElements(limit: 1 << 20)),
            ("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", .tooDeep(limit: 8)),
        ] as [(String, RESPError)])
    func garbageIsAFaultHoweverItIsSplit(_ text: String, _ fault: RESPError) {
        #expect(self.read("+OK\r\n" + text) == ([.simple("OK")], fault))
        let bytes = Array(text.utf8)
        for cut in bytes.indices { #expect(self.read([bytes[..<cut], bytes[cut...]]) == ([], fault)) }
        #expect(self.read(bytes.indices.map { bytes[$0...$0] }) == ([], fault))
    }

    @Test func anyBytesAreTheSameValuesWholeAndByteByByte() {
        let pieces = [
            "+", "-", ":", "$", "*", "\r\n", "\r", "\n", "1", "2", "3", "-1", "ab", "*2\r\n", "$2\r\nab\r\n", ":7\r\n",
            "\u{0}",
        ]
        var state: UInt64 = 88_172_645_463_325_252
        func next(_ bound: Int) -> Int {
            // Xorshift: the same inputs in each run.
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        var limits = RESPParser.Limits()
        (limits.lineByteCount, limits.bulkByteCount, limits.valueByteCount) = (6, 5, 40)
        (limits.elementCount, limits.depth) = (6, 3)
        for _ in 0..<20_000 {
            let bytes = Array((0..<next(12)).map { _ in pieces[next(pieces.count)] }.joined().utf8)
            let whole = self.read([bytes[...]], limits: limits)
            #expect(self.read(bytes.indices.map { bytes[$0...$0] }, limits: limits) == whole, "\(bytes)")
        }
    }

    @Test func aFaultStays() throws {
        var parser = RESPParser()
        parser.append(Array("?".utf8))
        #expect(throws: RESPError.unknownType(0x3f)) { try parser.next() }
        parser.append(Array("+OK\r\n".utf8))
        #expect(throws: RESPError.unknownType(0x3f)) { try parser.next() }
    }

    @Test func eachLimitHoldsAtItsValueAndNotAbove() {
        var limits = RESPParser.Limits()
        limits.lineByteCount = 4
        #expect(self.read("+abcd\r\n", limits: limits) == ([.simple("abcd")], nil))
        #expect(self.read("+abcde\r\n", limits: limits) == ([], .lineTooLong(limit: 4)))
        #expect(self.read("+abcdef", limits: limits) == ([], .lineTooLong(limit: 4)))
        limits = RESPParser.Limits()
        limits.bulkByteCount = 2
        #expect(self.read("$2\r\nab\r\n", limits: limits) == ([.bulk([0x61, 0x62])], nil))
        #expect(self.read("$3\r\n", limits: limits) == ([], .bulkTooLarge(limit: 2)))
        limits = RESPParser.Limits()
        limits.elementCount = 3
        #expect(self.read("*2\r\n*1\r\n:1\r\n:2\r\n*3\r\n", limits: limits).fault == nil)
        #expect(self.read("*2\r\n*2\r\n", limits: limits) == ([], .tooManyElements(limit: 3)))
        limits = RESPParser.Limits()
        limits.valueByteCount = 10
        #expect(self.read("$4\r\nabcd\r\n$4\r\nabcd\r\n", limits: limits).values.count == 2)
        #expect(self.read("$7\r\n", limits: limits) == ([], .valueTooLarge(limit: 10)))
    }

    @Test func manyValuesInOneBufferAreReadInOrder() {
        let text = (0..<20_000).map { ":\($0)\r\n$5\r\nhello\r\n" }.joined()
        let bytes = Array(text.utf8)
        let pieces = stride(from: 0, to: bytes.count, by: 1000).map { bytes[$0..<min($0 + 1000, bytes.count)] }
        let values = self.read(pieces).values
        #expect(values.count == 40_000)
        #expect(values[39_998] == .integer(19_999))
    }

    @Test func aCommandIsAnArrayOfTexts() {
        let command = RESPCommand(["SET", "ä"], [[0x0d, 0x0a], []])
        #expect(command.bytes == Array("*4\r\n$3\r\nSET\r\n$2\r\nä\r\n$2\r\n\r\n\r\n$0\r\n\r\n".utf8))
        #expect(
            self.read([command.bytes[...]]).values
                == [.array([.bulk(Array("SET".utf8)), .bulk(Array("ä".utf8)), .bulk([0x0d, 0x0a]), .bulk([])])])
    }
}
