// The bytes of one answer's events, written once for each attempt.

/// One event of an answer, as JSON in an arena.
struct WireEvent: Sendable {
    /// The place of its bytes.
    var range: Range<Int>
    /// The amount of the response that is sent up to it.
    var size: ContentSize
    /// Its number in the response; nil for one outside of it.
    var number: Int?
    /// True for the event that says that the response is complete.
    var isCompletion = false
    /// True when the item's call is finished with it.
    var call: Int?
    /// The content that is refuted once it has arrived; nil as long as all content is valid.
    var refutation: Refutation?
}

/// The content that an event refutes.
package enum Refutation: Sendable, Equatable {
    /// The connection: it carries another response than the one that was asked for.
    case connection
    /// The response, which contradicts itself: no other attempt can mend that.
    case response
}

extension [WireEvent] {
    /// Marks the content as refuted from an event on.
    mutating func refute(from index: Int, _ refutation: Refutation, size: ContentSize) {
        self.freeze(from: index, size: size)
        for index in index..<self.count { self[index].refutation = refutation }
    }

    /// Refutes the connection alone where the response was refuted: the event may be one of another response.
    mutating func doubt(from index: Int = 0) {
        for index in index..<self.count where self[index].refutation == .response {
            self[index].refutation = .connection
        }
    }

    /// From an event on the client gets no more of the response than this.
    mutating func freeze(from index: Int, size: ContentSize) {
        for index in index..<self.count {
            self[index].size = size
            self[index].isCompletion = false
        }
    }
}

/// Appends JSON to bytes.
struct EventArena: Sendable {
    var bytes: [UInt8] = []
    /// Indicates whether everything but ASCII is written in escapes.
    var escapes = false

    mutating func append(_ text: StaticString) {
        unsafe self.bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ text: String) { self.bytes.append(contentsOf: text.utf8) }

    mutating func append(_ number: Int) {
        guard number >= 10 else { return self.bytes.append(UInt8(ascii: "0") + UInt8(number)) }
        self.append(number / 10)
        self.bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    /// A JSON string.
    mutating func appendString(_ text: some Collection<UInt8>) {
        self.bytes.append(UInt8(ascii: "\""))
        if self.escapes {
            for scalar in String(decoding: text, as: UTF8.self).unicodeScalars { self.appendEscaped(scalar) }
        } else {
            for byte in text { self.appendPlain(byte) }
        }
        self.bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendPlain(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): self.append("\\\"")
        case UInt8(ascii: "\\"): self.append("\\\\")
        case UInt8(ascii: "\n"): self.append("\\n")
        case UInt8(ascii: "\r"): self.append("\\r")
        case 0..<0x20: self.appendUnit(UInt16(byte))
        default: self.bytes.append(byte)
        }
    }

    private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
        guard !scalar.isASCII else { return self.appendPlain(UInt8(scalar.value)) }
        for unit in UTF16.encode(scalar).map({ Array($0) }) ?? [] { self.appendUnit(unit) }
    }

    private mutating func appendUnit(_ unit: UInt16) {
        self.append("\\u")
        for shift in [12, 8, 4, 0] as [UInt16] {
            let digit = UInt8((unit >> shift) & 0xF)
            self.bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
