// Tests that the cuts between pieces have no effect: a corpus, and random changes of it.

import HTTPProtocol
import Testing

@Suite struct ResponseSplitTests {
    struct Input: Sendable, CustomTestStringConvertible {
        let text: String
        var method = RequestMethod.get
        var acceptsUpgrade = false
        var limits = HTTPLimits()

        var bytes: [UInt8] { Array(self.text.utf8) }
        var testDescription: String { self.text.debugDescription }

        func read(_ bytes: [UInt8], pieceSizes: [Int] = []) -> ReadResponse {
            ReadResponse.read(
                bytes, to: self.method, acceptsUpgrade: self.acceptsUpgrade, limits: self.limits, pieceSizes: pieceSizes
            )
        }
    }

    private static let small = HTTPLimits(
        headByteCount: 120, fieldLineByteCount: 40, fieldLineCount: 4, chunkLineByteCount: 8,
        trailerSectionByteCount: 12)

    static let corpus = [
        Input(text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x\r\n\r\nhelloHTTP/1.1 200 OK\r\n"),
        Input(
            text:
                "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n1;a=\"b\\\"\"\r\n \r\n05\r\nworld\r\n"
        ),
        Input(text: "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n100\r\nabc"),
        Input(
            text: "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n"
                + "0000a\r\n0123456789\r\n3 \r\nabc\r\n2\r\nok\r\n000\r\nA: b\r\n c\n\r\nrest"),
        Input(text: "HTTP/1.0 200 OK\nA: b\nA:c\n d\n\nuntil the end", method: .post),
        Input(
            text:
                "\r\n\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: a\r\n\r\n\nHTTP/1.1 204 x\r\nA: b\r\n\r\nrest"
        ),
        Input(
            text: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\u{1}\u{2}",
            acceptsUpgrade: true),
        Input(
            text: "HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\n\u{16}\u{3}\u{1}", method: .connect),
        Input(text: "HTTP/1.1 407 No\r\nContent-Length: 2, 2\r\n\r\nno", method: .connect),
        Input(text: "HTTP/1.1 304 x\r\nX: a\r\n \r\n\tb \r\n\r\nrest"),
        Input(text: "SSH-2.0-OpenSSH_9.6\r\n"), Input(text: "HTTP/1.1 200 O\u{1}K\r\n\r\n"),
        Input(text: "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"), Input(text: "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"),
        Input(text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Input(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nxyz\r\n"),
        Input(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n"),
        Input(text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nFFFFFFFFFFFFFFFFF\r\n"),
        Input(text: "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.1 103 x\r\n\r\n", limits: Self.small),
        Input(text: "HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\nD:\r\nE:\r\n\r\n", limits: Self.small),
        Input(
            text: "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n dddddddddddddddddddddddddddddddddddddd\r\n\r\n", limits: Self.small
        ),
        Input(
            text: "HTTP/1.1 200 \(String(repeating: "x", count: 60))\r\n\(String(repeating: "A: bbbbb\r\n", count: 8))",
            limits: Self.small),
        Input(
            text: "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n000002\r\nok\r\n0000002\r\nok\r\n0\r\n\r\n",
            limits: Self.small),
        Input(
            text: "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nAAAAAAAAAAA: b\r\n",
            limits: Self.small),
    ]

    @Test(arguments: Self.corpus)
    func splittingTheInputDoesNotChangeTheResponse(input: Input) {
        let bytes = input.bytes
        let whole = input.read(bytes)
        for cut in 0...bytes.count {
            #expect(input.read(bytes, pieceSizes: [cut]) == whole, "cut at \(cut)")
        }
        #expect(input.read(bytes, pieceSizes: [Int](repeating: 1, count: bytes.count)) == whole)
        #expect(input.read(bytes, pieceSizes: [Int](repeating: 2, count: bytes.count / 2)) == whole)
        #expect(input.read(bytes, pieceSizes: [Int](repeating: 3, count: bytes.count / 3)) == whole)
    }

    /// A prefix gives a prefix of the content, and no error that the whole does not have.
    @Test(arguments: Self.corpus)
    func truncatedInputGivesAPrefixOfTheWholeResponse(input: Input) {
        let bytes = input.bytes
        let whole = input.read(bytes)
        for count in 0..<bytes.count {
            let part = input.read(Array(bytes[..<count]))
            #expect(whole.content.starts(with: part.content), "after \(count) bytes")
            #expect(part.head == nil || part.head == whole.head, "after \(count) bytes")
            #expect(part.error == nil || part.error == whole.error, "after \(count) bytes")
            #expect(!part.isComplete || (whole.isComplete && part == whole), "after \(count) bytes")
        }
    }

    @Test(arguments: Self.corpus.indices)
    func anyBytesGiveTheSameResponseWholeOrInPieces(index: Int) {
        var random = SeededGenerator(seed: UInt64(index))
        let input = Self.corpus[index]
        for _ in 0..<500 {
            let bytes = Self.mutated(input.bytes, using: &random)
            let whole = input.read(bytes)
            #expect(input.read(bytes, pieceSizes: random.pieceSizes(of: bytes.count)) == whole)
            #expect(input.read(bytes, pieceSizes: [Int](repeating: 1, count: bytes.count)) == whole)
        }
    }

    private static let words = [
        "\r\n", "\n", "\r", " ", "\t", "0", "5", "ff", ";", "\"", "\\", ":", ",", "chunked", "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n", "HTTP/1.1 100 x\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\u{0}", "\r\n\r\n",
        "0\r\n\r\n",
    ]

    private static func mutated(_ bytes: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0..<max(1, bytes.count), using: &random)
            guard index < bytes.count else { continue }
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(contentsOf: (Self.words.randomElement(using: &random) ?? "").utf8, at: index)
            default:
                let end = Int.random(in: index..<bytes.count, using: &random)
                bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
            }
        }
        return bytes
    }
}
