import StreamTransport

/// The status code and the fields of an answer.
///
/// The request's own credentials are redacted in the values, as some servers repeat what they were sent.
public struct EventSourceResponse: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The status code (RFC 9110 section 15).
    public let statusCode: Int
    /// The field lines, in their order.
    public let fields: [(name: String, value: String)]

    init(_ head: ResponseHead) {
        self.statusCode = head.statusCode
        self.fields = head.fields.map { (name: $0.name, value: $0.value) }
    }

    /// Returns the value of the first field with this name, in any case; nil when there is none.
    public func value(of name: String) -> String? {
        let name = name.lowercased()
        return self.fields.first { $0.name.lowercased() == name }?.value
    }

    /// Returns whether the status codes and the field lines are the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.statusCode == right.statusCode && left.fields.elementsEqual(right.fields, by: ==)
    }

    /// The status code only.
    public var description: String { "EventSourceResponse(\(self.statusCode))" }
    /// The same as `description`.
    public var debugDescription: String { self.description }
    /// The status code only.
    public var customMirror: Mirror { Mirror(self, children: ["statusCode": self.statusCode]) }
}
