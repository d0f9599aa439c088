// What is wrong with a command line, in words for the person who typed it.

/// A command line, an environment variable or a file that cannot be used as it is.
struct UsageError: Error, Equatable {
    /// What is wrong; the beginning of a sentence, without a full stop.
    let message: String

    /// An error with a message.
    init(_ message: String) { self.message = message }
}
