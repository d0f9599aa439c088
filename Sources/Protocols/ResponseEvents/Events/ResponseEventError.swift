// The errors of decoding an event. They hold no content of the event.

/// The reason for which bytes are not an event.
package enum ResponseEventError: Error, Equatable, Sendable {
    /// The bytes are not JSON as RFC 8259 defines it: they are malformed, cut off, or followed by other bytes.
    case notJSON
    /// The bytes are not UTF-8.
    case invalidUTF8
    /// The bytes are JSON, but not an object.
    case notObject
    /// The object has no `type` that is a string.
    case missingType
    /// A member that the event's type needs is missing or has the wrong type.
    case invalidField(Field)
    /// Arrays and objects are nested deeper than 512 levels.
    case tooDeep
    /// The event has more bytes than the decoder allows.
    case tooLarge
    /// The answer has more items than a decoder of another API keeps (`ResponseSummary.maximumOutputCount`).
    case tooManyItems
    /// There is no memory for the parser.
    case outOfMemory

    /// Members that an event can need.
    package enum Field: Sendable {
        /// The text of a delta event.
        case delta
        /// The item of an output item event.
        case item
        /// The response of `response.created` and of the terminal events.
        case response
    }
}
