// A run of a body in the buffer it was received in.
// Values without an owner.

/// The result of one call of `ResponseReader.readBody(_:)`.
package struct BodyPiece: Equatable, Sendable {
    /// The place of the content in the buffer; empty when the bytes had none.
    package var content: Range<Int>
    /// The number of bytes of the buffer that were read.
    ///
    /// The rest is behind the end of the body when `isComplete`. Otherwise the next call with it throws: the content
    /// before the error is delivered first.
    package var consumed: Int
    /// Indicates whether the body has ended.
    package var isComplete: Bool

    /// Makes a piece.
    package init(content: Range<Int>, consumed: Int, isComplete: Bool) {
        self.content = content
        self.consumed = consumed
        self.isComplete = isComplete
    }
}
