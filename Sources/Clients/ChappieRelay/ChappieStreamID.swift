/// The identifier of a stream in a journal: 128 random bits.
///
/// Its text is 32 lowercase hexadecimal digits. It suffices to find the stream, so it is as long as a key; it is no
/// credential all the same, since it stands in addresses and logs.
public struct ChappieStreamID: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    /// Creates a random identifier, from the system's generator.
    public init() {
        self.high = .random(in: .min ... .max)
        self.low = .random(in: .min ... .max)
    }
}

extension ChappieStreamID: LosslessStringConvertible {
    /// Reads 32 lowercase hexadecimal digits; nil for any other text.
    public init?(_ description: String) {
        let digits = description.utf8
        guard digits.count == 32, digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
            let high = UInt64(description.prefix(16), radix: 16), let low = UInt64(description.suffix(16), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }

    /// The identifier's text, of 32 digits.
    public var description: String { Self.digits(of: self.high) + Self.digits(of: self.low) }

    private static func digits(of half: UInt64) -> String {
        let digits = String(half, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension ChappieStreamID: Codable {
    /// Reads the identifier's text.
    ///
    /// Throws `DecodingError` for any other value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let id = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 32 hexadecimal digits")
        }
        self = id
    }

    /// Writes the identifier's text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }
}
