// Reads a server's frames from the whole bytes by RFC 6455. It shares no code with the product.

/// The messages in a server's bytes, and how they end.
struct FrameOracle {
    enum End: Equatable {
        /// The bytes end without a close frame.
        case lost
        /// A close frame; 1005 when it has no code.
        case closed(Int)
        /// A rule of RFC 6455 section 5 is broken.
        case violation
        /// A message is above the limit.
        case tooLarge
    }

    private(set) var texts: [[UInt8]] = []
    /// Indicates whether there is a binary message; the texts behind it are no concern.
    private(set) var hasBinary = false
    /// Indicates whether there is a text, whole or not, that is not UTF-8 and cannot become it.
    ///
    /// A client that reads it in pieces has to say that a rule is broken; one that reads it whole takes it for an event
    /// that cannot be decoded.
    private(set) var hasImpossibleText = false
    private(set) var end = End.lost

    private var rest: ArraySlice<UInt8>
    private let limit: Int
    /// The message that was begun, and whether it is text.
    private var message: (bytes: [UInt8], isText: Bool)?

    /// Reads frames without an extension; messages may have `limit` bytes.
    init(_ bytes: [UInt8], limit: Int) {
        self.rest = bytes[...]
        self.limit = limit
        while let end = self.readFrame() {
            guard let end = end.value else { continue }
            self.end = end
            return
        }
    }

    /// The way in which a frame ended the connection, if it did.
    private struct Verdict {
        var value: End?

        static let goesOn = Self(value: nil)
    }

    /// Nil when the bytes end inside the frame.
    private mutating func readFrame() -> Verdict? {
        guard let first = self.rest.popFirst() else { return nil }
        let (opcode, isFinal) = (first & 0x0F, first & 0x80 != 0)
        guard first & 0x70 == 0, [0, 1, 2, 8, 9, 10].contains(opcode) else { return Verdict(value: .violation) }
        let isControl = opcode >= 8
        // A control frame is whole; a message is begun once, and continued after that.
        guard isControl ? isFinal : (opcode == 0) == (self.message != nil) else { return Verdict(value: .violation) }
        guard let second = self.rest.popFirst() else { return nil }
        guard second & 0x80 == 0, !isControl || second <= 125 else { return Verdict(value: .violation) }
        var length = UInt64(second)
        if second > 125 {
            length = 0
            for place in 0..<(second == 126 ? 2 : 8) {
                guard let byte = self.rest.popFirst() else { return nil }
                if second == 127, place == 0, byte > 127 { return Verdict(value: .violation) }
                length = length << 8 | UInt64(byte)
            }
            guard length > (second == 126 ? 125 : 65_535) else { return Verdict(value: .violation) }
        }
        return isControl ? self.readControl(opcode, Int(length)) : self.readData(opcode, length, isFinal: isFinal)
    }

    private mutating func readControl(_ opcode: UInt8, _ length: Int) -> Verdict? {
        guard self.rest.count >= length else { return nil }
        let payload = Array(self.rest.prefix(length))
        self.rest = self.rest.dropFirst(length)
        guard opcode == 8 else { return .goesOn }
        guard !payload.isEmpty else { return Verdict(value: .closed(1_005)) }
        guard payload.count > 1, String(validating: payload.dropFirst(2), as: UTF8.self) != nil else {
            return Verdict(value: .violation)
        }
        let code = Int(payload[0]) << 8 | Int(payload[1])
        let isAllowed = 3_000...4_999 ~= code || 1_000...1_003 ~= code || 1_007...1_014 ~= code
        return Verdict(value: isAllowed ? .closed(code) : .violation)
    }

    private mutating func readData(_ opcode: UInt8, _ length: UInt64, isFinal: Bool) -> Verdict? {
        if opcode != 0 { self.message = ([], opcode == 1) }
        guard length <= UInt64(self.limit - (self.message?.bytes.count ?? 0)) else { return Verdict(value: .tooLarge) }
        let isWhole = self.rest.count >= Int(length)
        self.message?.bytes += self.rest.prefix(Int(length))
        if let message = self.message, message.isText {
            let isPossible = isWhole && isFinal ? Self.isUTF8(message.bytes) : Self.mayBecomeUTF8(message.bytes)
            self.hasImpossibleText = self.hasImpossibleText || !isPossible
        }
        guard isWhole else { return nil }
        self.rest = self.rest.dropFirst(Int(length))
        guard isFinal, let message = self.message else { return .goesOn }
        self.message = nil
        if !message.isText { self.hasBinary = true }
        if !self.hasBinary { self.texts.append(message.bytes) }
        return .goesOn
    }

    private static func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool {
        String(validating: Array(bytes), as: UTF8.self) != nil
    }

    /// Returns whether some bytes behind these would make them UTF-8: at most three, each at an end of what may stand
    /// there.
    private static func mayBecomeUTF8(_ bytes: [UInt8]) -> Bool {
        var endings: [[UInt8]] = [[]]
        for _ in 0...3 {
            if endings.contains(where: { Self.isUTF8(bytes + $0) }) { return true }
            endings = endings.flatMap { ending in [0x80, 0x90, 0xA0, 0xBF].map { ending + [$0] } }
        }
        return false
    }
}
