// The limits of a response's head and framing.
// Values without an owner.

/// The largest sizes of the parts of a response that are accepted.
///
/// Bytes of a line are counted with its line end.
package struct HTTPLimits: Equatable, Sendable {
    /// The most bytes of all heads together, 64 KiB by default: status lines, field lines and the empty lines behind
    /// them, of interim responses and the final one.
    package var headByteCount: Int
    /// The most bytes of one field line with the lines that continue it, 32 KiB by default.
    package var fieldLineByteCount: Int
    /// The most field lines of one head, 512 by default; those that continue another one are not counted.
    package var fieldLineCount: Int
    /// The most bytes of a chunk's size with its extensions, 4 KiB by default.
    package var chunkLineByteCount: Int
    /// The most bytes between the line of the last chunk and the end of the response, 16 KiB by default.
    package var trailerSectionByteCount: Int

    /// Makes limits.
    package init(
        headByteCount: Int = 65_536, fieldLineByteCount: Int = 32_768, fieldLineCount: Int = 512,
        chunkLineByteCount: Int = 4_096, trailerSectionByteCount: Int = 16_384
    ) {
        precondition(
            headByteCount >= 0 && fieldLineByteCount >= 0 && fieldLineCount >= 0
                && chunkLineByteCount >= 0 && trailerSectionByteCount >= 0, "a limit cannot be negative")
        self.headByteCount = headByteCount
        self.fieldLineByteCount = fieldLineByteCount
        self.fieldLineCount = fieldLineCount
        self.chunkLineByteCount = chunkLineByteCount
        self.trailerSectionByteCount = trailerSectionByteCount
    }
}
