// The fault of a command line, in a message for the user.

/// A command line, an environment variable or a file that cannot be used as it is.
struct UsageError: Error, Equatable {
    /// The fault; the beginning of a sentence, without a full stop.
    let message: String

    /// Creates an error with a message.
    init(_ message: String) { self.message = message }
}
