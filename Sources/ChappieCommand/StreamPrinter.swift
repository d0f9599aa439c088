// What is printed for the events of a stream. Pure: values in, text out.
import Chappie

/// Text for the two outputs of the process.
struct PrintedText: Equatable {
    /// Data.
    var output = ""
    /// Everything else.
    var errorOutput = ""
}

/// Turns a stream's events, and its end, into text.
protocol StreamPrinter {
    /// What is printed for an event.
    mutating func printed(_ event: ChappieStreamEvent) -> PrintedText

    /// What is printed when the stream has failed or was interrupted.
    mutating func printed(_ failure: StreamFailure) -> PrintedText
}
