public import PlatformFoundation
public import StreamSession

/// The refusal of an argument that cannot work, by an initialiser that takes it.
///
/// A text that is set as a property is refused in the same words when the turn begins, before anything is sent: as
/// `ChappieClientError.transport` with the tag `request.invalid`, and with the argument and the reason in
/// `details.detail`.
///
/// ```swift
/// do {
///     _ = try ChappieResponseRequest(bodyJSON: text)
/// } catch {
///     print(error.argument, error.reason)   // bodyJSON has a byte at offset 7 that JSON does not allow there
/// }
/// ```
public struct ChappieArgumentError: Error, Sendable, Equatable, LocalizedError, CustomStringConvertible {
    /// The name of the argument or the property, such as `mediaType`.
    public let argument: String
    /// The fault of the argument, as the rest of a sentence that begins with its name: `is empty`.
    ///
    /// It has no part of the argument's value but the names of a type's members.
    public let reason: String

    /// Creates an error.
    package init(_ argument: String, _ reason: String) {
        self.argument = argument
        self.reason = reason
    }

    /// The argument and the reason.
    package var fault: String { "\(self.argument) \(self.reason)" }

    /// The stable name of the problem: `request.invalid`.
    public var tag: String { "request.invalid" }
    /// The kind of problem: `validation`.
    public var category: ChappieErrorCategory { .validation }
    /// Indicates whether the same call may succeed later without any change: false.
    public var isRetryable: Bool { false }
    /// The problem, in a sentence that is fit to show.
    public var safeDescription: String { "An argument cannot be used: \(self.fault)." }
    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }
    /// The stable tag and the safe description.
    public var description: String { "\(self.tag): \(self.safeDescription)" }
}
