// The text of a stream's events. Pure: values in, text out.
import Chappie

/// Text for the two outputs of the process.
struct PrintedText: Equatable {
    /// The data.
    var output = ""
    /// All other text.
    var errorOutput = ""
}

/// Turns a stream's events, and its end, into text.
protocol StreamPrinter {
    /// Returns the text of an event.
    mutating func printed(_ event: ChappieStreamEvent) -> PrintedText

    /// Returns the text of a stream that has failed or was interrupted.
    mutating func printed(_ failure: StreamFailure) -> PrintedText
}
