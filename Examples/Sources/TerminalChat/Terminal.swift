// The terminal: text that appears at once, and lines that a person types.
//
// On the main actor, because reading a line blocks its thread: there it blocks no turn and no tool.
import Foundation

/// Writes text at once, without the control characters that could move the cursor or change the terminal's settings.
///
/// `print` would show nothing of a line before its end, because the C library keeps it in a buffer.
@MainActor func show(_ text: String) throws {
    let isShown = { (scalar: Unicode.Scalar) in
        scalar == "\n" || scalar == "\t" || scalar.properties.generalCategory != .control
    }
    let scalars = String.UnicodeScalarView(text.unicodeScalars.filter(isShown))
    try FileHandle.standardOutput.write(contentsOf: Data(String(scalars).utf8))
}

/// Returns the next line of the input, without its end; nil at the end of the input.
@MainActor func readLine(after prompt: String) throws -> String? {
    try show(prompt)
    return Swift.readLine()
}

/// Returns whether a person agrees; the end of the input is a no.
@MainActor func confirm(_ question: String) throws -> Bool {
    try readLine(after: question)?.lowercased().hasPrefix("y") == true
}
