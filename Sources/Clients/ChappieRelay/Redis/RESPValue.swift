/// A value of RESP2, the protocol of Redis.
package enum RESPValue: Sendable, Equatable {
    /// A short text, such as `OK`.
    case simple(String)
    /// A refusal: its code and words, such as `WRONGTYPE Operation against …`.
    case error(String)
    /// A number.
    case integer(Int)
    /// Bytes.
    case bulk([UInt8])
    /// The absence of bytes, or of an array.
    case null
    /// Values in order.
    case array([RESPValue])
}

/// A fault of bytes that are no RESP2.
package enum RESPError: Error, Sendable, Equatable {
    /// A value begins with a byte that names no type: the peer may speak another protocol.
    case unknownType(UInt8)
    /// A line has a CR or an LF by itself.
    case malformedLine
    /// A line is longer than the limit.
    case lineTooLong(limit: Int)
    /// A number or a length is none.
    case malformedNumber
    /// A text is longer than the limit.
    case bulkTooLarge(limit: Int)
    /// The bytes behind a text are not CR LF.
    case missingTerminator
    /// A value has more elements than the limit.
    case tooManyElements(limit: Int)
    /// Arrays lie in each other more deeply than the limit.
    case tooDeep(limit: Int)
    /// A value is larger than the limit.
    case valueTooLarge(limit: Int)
}

extension RESPError: CustomStringConvertible {
    /// The fault in a few words, without any of the peer's bytes but a type's.
    package var description: String {
        switch self {
        case .unknownType(let byte): "a value begins with the byte \(byte), which is no type of RESP"
        case .malformedLine: "a line has a CR or an LF by itself"
        case .lineTooLong(let limit): "a line is longer than \(limit) bytes"
        case .malformedNumber: "a number or a length is none"
        case .bulkTooLarge(let limit): "a text is longer than \(limit) bytes"
        case .missingTerminator: "a text does not end where its length says"
        case .tooManyElements(let limit): "a value has more than \(limit) elements"
        case .tooDeep(let limit): "arrays are more than \(limit) deep"
        case .valueTooLarge(let limit): "a value is larger than \(limit) bytes"
        }
    }
}
