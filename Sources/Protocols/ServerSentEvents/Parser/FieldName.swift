// The fields of an event stream, and a field name that may still be incomplete.

/// A field to which WHATWG HTML section 9.2.6 gives a meaning.
enum Field: Sendable {
    /// A line of the event's data.
    case data
    /// The event's type.
    case event
    /// The last event ID.
    case id
    /// The reconnection time.
    case retry
}

/// The bytes of a field name, as far as they have arrived.
///
/// A name longer than the longest known one is never stored: its line is ignored.
struct FieldName: Sendable {
    /// The bytes, the first one highest, below a one bit that makes leading NULs distinct from absent bytes.
    private var bits: UInt64 = 1

    /// Adds one more byte; returns false because no known name is that long.
    mutating func append(_ byte: UInt8) -> Bool {
        guard self.bits < 1 << 40 else { return false }
        self.bits = self.bits << 8 | UInt64(byte)
        return true
    }

    /// The field of this name; nil when the name is unknown.
    var field: Field? {
        switch self.bits {
        case 0x01_6461_7461: .data
        case 0x0165_7665_6E74: .event
        case 0x01_6964: .id
        case 0x0172_6574_7279: .retry
        default: nil
        }
    }
}
