// The values of a Redis server, and a plain reading of them (RESP2).

import ChappieRelay
import Invariants

/// The values that a server sends.
struct ValueCourse: Course {
    private static let limits: RESPParser.Limits = {
        var limits = RESPParser.Limits()
        limits.lineByteCount = 40
        limits.bulkByteCount = 60
        limits.valueByteCount = 200
        limits.elementCount = 12
        limits.depth = 3
        return limits
    }()

    private var values: [RESPValue] = []
    private var error: RESPError?

    init(reading pieces: [ArraySlice<UInt8>]) {
        var parser = RESPParser(limits: Self.limits)
        do throws(RESPError) {
            for piece in pieces {
                parser.append(piece)
                while let value = try parser.next() { self.values.append(value) }
            }
        } catch {
            self.error = error
        }
    }

    // MARK: The plain reading

    func check(against bytes: [UInt8]) {
        var plain = PlainValues(bytes[...], Self.limits)
        let values = plain.values()
        require(self.values == values, "\(self.values), and plainly \(values)")
        require((self.error != nil) == plain.isFaulty, "\(String(describing: self.error)), plainly \(plain.isFaulty)")
    }
}

private struct PlainValues {
    private enum Stop: Error { case incomplete, faulty }

    private var rest: ArraySlice<UInt8>
    private let limits: RESPParser.Limits
    private var (byteCount, elementCount) = (0, 0)
    var isFaulty = false

    init(_ bytes: ArraySlice<UInt8>, _ limits: RESPParser.Limits) {
        self.rest = bytes
        self.limits = limits
    }

    mutating func values() -> [RESPValue] {
        var values: [RESPValue] = []
        do {
            while true {
                (self.byteCount, self.elementCount) = (0, 0)
                values.append(try self.value(depth: 0))
            }
        } catch {
            self.isFaulty = (error as? Stop) == .faulty
        }
        return values
    }

    private func require(_ holds: Bool) throws { if !holds { throw Stop.faulty } }

    private mutating func value(depth: Int) throws -> RESPValue {
        if let type = self.rest.first { try self.require("+-:$*".utf8.contains(type)) }
        guard let end = self.rest.firstIndex(of: 0x0A) else {
            try self.require(self.rest.count <= self.limits.lineByteCount + 2)
            throw Stop.incomplete
        }
        let line = self.rest[..<end]
        try self.require(line.count <= self.limits.lineByteCount + 2 && line.last == 0x0D)
        self.rest = self.rest[(end + 1)...]
        try self.count(line.count + 1)
        let text = line.dropFirst().dropLast()
        switch line.first {
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            try self.require(!text.contains(0x0D))
            let words = String(decoding: text, as: UTF8.self)
            return line.first == UInt8(ascii: "+") ? .simple(words) : .error(words)
        case UInt8(ascii: ":"): return .integer(try self.number(text))
        case UInt8(ascii: "$"):
            let length = try self.number(text)
            if length == -1 { return .null }
            try self.require(length >= 0 && length <= self.limits.bulkByteCount)
            try self.count(length)
            guard self.rest.count >= length + 2 else { throw Stop.incomplete }
            let bytes = Array(self.rest.prefix(length))
            try self.require(self.rest.dropFirst(length).starts(with: [0x0D, 0x0A]))
            self.rest = self.rest.dropFirst(length + 2)
            return .bulk(bytes)
        default:
            let length = try self.number(text)
            if length == -1 { return .null }
            try self.require(length >= 0 && length <= self.limits.elementCount - self.elementCount)
            try self.require(depth < self.limits.depth)
            self.elementCount += length
            var elements: [RESPValue] = []
            for _ in 0..<length { elements.append(try self.value(depth: depth + 1)) }
            return .array(elements)
        }
    }

    private mutating func count(_ byteCount: Int) throws {
        self.byteCount += byteCount
        try self.require(self.byteCount <= self.limits.valueByteCount)
    }

    private func number(_ text: ArraySlice<UInt8>) throws -> Int {
        let words = String(decoding: text, as: UTF8.self)
        try self.require(words.first != "+" && words.utf8.count { $0 != UInt8(ascii: "-") } <= 19)
        guard let number = Int(words) else { throw Stop.faulty }
        return number
    }
}
