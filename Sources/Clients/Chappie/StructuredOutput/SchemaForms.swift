import PlatformFoundation

/// The forms of the values for which a `JSONDecoder` has a strategy.
struct SchemaForms: Sendable {
    /// The schema of `Date`; nil when the strategy does not show its form.
    let date: SchemaNode?
    /// The schema of `Data`; nil when the strategy does not show its form.
    let data: SchemaNode?

    /// Marks the decoder of answers, whose strategy for dates is a closure.
    fileprivate static let mark = CodingUserInfoKey(rawValue: "chappie.date-time")

    /// Takes the forms of a decoder's strategies.
    init(_ decoder: JSONDecoder) {
        let isMarked = Self.mark.map { decoder.userInfo[$0] != nil } ?? false
        self.date =
            switch decoder.dateDecodingStrategy {
            case .custom where isMarked: .text(format: "date-time")
            case .iso8601: .text(format: "date-time")
            case .secondsSince1970: .described(.number, "Seconds since 1970-01-01T00:00:00Z")
            case .millisecondsSince1970: .described(.number, "Milliseconds since 1970-01-01T00:00:00Z")
            case .deferredToDate: .described(.number, "Seconds since 2001-01-01T00:00:00Z")
            default: nil
            }
        self.data =
            switch decoder.dataDecodingStrategy {
            case .base64: .described(.string, "Bytes in Base64 (RFC 4648 section 4)")
            case .deferredToData: .described(.array(.integer), "Bytes, each as an integer from 0 to 255")
            default: nil
            }
    }
}

extension JSONDecoder {
    /// Returns the decoder of answers for which the program gives none: dates are in ISO 8601, as RFC 3339 has them.
    ///
    /// Foundation's own strategy for them reports no place.
    static func ofAnswers() -> JSONDecoder {
        let decoder = JSONDecoder()
        if let mark = SchemaForms.mark { decoder.userInfo[mark] = true }
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            guard let date = Date(dateTime: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a date with a time")
            }
            return date
        }
        return decoder
    }
}

extension Date {
    /// Reads a date with a time (RFC 3339); nil for other text.
    init?(dateTime text: String) {
        guard
            let date = (try? Date.ISO8601FormatStyle().parse(text))
                ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
        else { return nil }
        self = date
    }
}
