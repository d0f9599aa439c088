// Reads responses for `run.py`, which compares them with h11's, and mutates them to check that cuts have no effect.
//
// Usage: http-oracle                        one response a line: method, upgrade or none, the bytes in hexadecimal
//        http-oracle mutate COUNT SEED      the same lines, each changed at random, COUNT changes in all
// A line of the output has tabs between: verdict, error, status code, minor version, bytes read, content, and the field
// lines as name=value with spaces between; texts are in hexadecimal.

import HTTPProtocol

/// A response, and the request it answers.
struct Exchange {
    let method: RequestMethod
    let acceptsUpgrade: Bool
    let bytes: [UInt8]

    /// Reads a line of the input.
    init?(_ line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let method = RequestMethod(rawValue: String(words[0])) else { return nil }
        self.init(method: method, acceptsUpgrade: words[1] == "upgrade", bytes: Hexadecimal.bytes(words[2]))
    }

    init(method: RequestMethod, acceptsUpgrade: Bool, bytes: [UInt8]) {
        self.method = method
        self.acceptsUpgrade = acceptsUpgrade
        self.bytes = bytes
    }

    /// Reads the response in pieces of at most this many bytes.
    func read(longestPiece: Int, using random: inout some RandomNumberGenerator) -> Reading {
        var reading = Reading(
            reader: ResponseReader(method: self.method, acceptsUpgrade: self.acceptsUpgrade, limits: HTTPLimits()))
        var start = 0
        while start < self.bytes.count {
            let byteCount = longestPiece == .max ? .max : Int.random(in: 1...longestPiece, using: &random)
            let end = start + min(byteCount, self.bytes.count - start)
            reading.feed(self.bytes[start..<end])
            start = end
        }
        reading.end()
        return reading
    }
}

/// The reading of a response.
struct Reading: Equatable {
    private(set) var head: ResponseMessageHead?
    private(set) var content: [UInt8] = []
    private(set) var byteCount = 0
    private(set) var verdict = "wrong"
    private(set) var error: HTTPError?
    private var isComplete = false
    private var reader: ResponseReader

    init(reader: ResponseReader) { self.reader = reader }

    static func == (left: Self, right: Self) -> Bool {
        left.head == right.head && left.content == right.content && left.verdict == right.verdict
            && left.error == right.error && (left.error != nil || left.byteCount == right.byteCount)
    }

    mutating func feed(_ piece: ArraySlice<UInt8>) {
        guard self.error == nil, !self.isComplete else { return }
        var copy = Array(piece)
        copy.withUnsafeMutableBytes { buffer in
            do throws(HTTPError) {
                try self.read(buffer)
            } catch {
                self.error = error
            }
        }
    }

    private mutating func read(_ buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) {
        var position = 0
        if self.head == nil {
            self.head = try self.reader.readHead(UnsafeRawBufferPointer(buffer), at: &position)
            self.byteCount += position
            guard self.head != nil else { return }
        }
        repeat {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[position...])
            let piece = try self.reader.readBody(rest)
            self.content += rest[piece.content]
            self.byteCount += piece.consumed
            self.isComplete = piece.isComplete
            position += piece.consumed
        } while position < buffer.count && !self.isComplete
    }

    mutating func end() {
        guard self.error == nil else { return }
        do throws(HTTPError) {
            try self.reader.connectionEnded()
            self.verdict = self.isComplete ? "complete" : "untilClose"
        } catch {
            self.verdict = "incomplete"
            self.error = error
        }
    }

    /// A line of the output.
    var line: String {
        let fields = (self.head?.fields).map { Array($0) } ?? []
        let pairs = fields.map { Hexadecimal.text(Array($0.name.utf8)) + "=" + Hexadecimal.text(Array($0.value.utf8)) }
        // Without its type, the compiler takes seconds for it.
        let words: [String] = [
            self.verdict, self.error.map { "\($0)" } ?? "", self.head.map { "\($0.statusCode)" } ?? "",
            self.head.map { "\($0.minorVersion)" } ?? "", "\(self.byteCount)", Hexadecimal.text(self.content),
            pairs.joined(separator: " "),
        ]
        return words.joined(separator: "\t")
    }
}

/// Bytes as digits.
enum Hexadecimal {
    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    static func bytes(_ text: Substring) -> [UInt8] {
        let values = text.utf8.map { $0 > 0x39 ? $0 - 0x57 : $0 - 0x30 }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }
}

/// Repeatable random numbers (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}

/// Random changes of responses.
enum Mutation {
    private static let words = [
        "\r\n", "\n", "\r", " ", "\t", "0", "5", "ff", ";", "\"", "\\", ":", ",", "chunked", "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n", "HTTP/1.1 100 x\r\n\r\n", "HTTP/1.1 200 OK\r\n", "\u{0}", "\r\n\r\n",
        "0\r\n\r\n", "7fffffffffffffff", "FFFFFFFFFFFFFFFFF", "\r\n ", "\r\n\t", "-", "+",
    ].map { Array($0.utf8) }

    static func apply(to bytes: inout [UInt8], using random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...2, using: &random) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(contentsOf: self.words.randomElement(using: &random) ?? [], at: index)
            default:
                let end = Int.random(in: index..<bytes.count, using: &random)
                bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0...bytes.count, using: &random))
            }
        }
    }

    /// Reads `count` mutated responses whole, byte by byte and in random pieces.
    ///
    /// Prints those that differ, and returns whether there were none.
    static func run(_ exchanges: [Exchange], count: Int, seed: UInt64) -> Bool {
        var random = SeededGenerator(seed: seed)
        var verdicts: [String: Int] = [:]
        for index in 0..<count {
            let exchange = exchanges[index % exchanges.count]
            var bytes = exchange.bytes
            self.apply(to: &bytes, using: &random)
            let mutated = Exchange(method: exchange.method, acceptsUpgrade: exchange.acceptsUpgrade, bytes: bytes)
            let whole = mutated.read(longestPiece: .max, using: &random)
            for longest in [1, 30] where mutated.read(longestPiece: longest, using: &random) != whole {
                print("differs in pieces of up to \(longest): \(Hexadecimal.text(bytes))")
                return false
            }
            verdicts[whole.verdict, default: 0] += 1
        }
        print("\(count) mutations: \(verdicts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })")
        return true
    }
}

/// Entry point.
@main enum HTTPOracle {
    static func main() {
        let arguments = CommandLine.arguments
        var exchanges: [Exchange] = []
        while let line = readLine() {
            guard let exchange = Exchange(line) else { preconditionFailure("this is no response: \(line)") }
            exchanges.append(exchange)
        }
        if arguments.count == 4, let count = Int(arguments[2]), let seed = UInt64(arguments[3]) {
            precondition(Mutation.run(exchanges, count: count, seed: seed), "cuts change a response")
            return
        }
        var random = SeededGenerator(seed: 1)
        for exchange in exchanges {
            let whole = exchange.read(longestPiece: .max, using: &random)
            precondition(exchange.read(longestPiece: 1, using: &random) == whole, "cuts change a response")
            print(whole.line)
        }
    }
}
