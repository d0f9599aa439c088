/// The position in a response that a piece of output belongs to.
///
/// Immutable values without an owner. Identifiers are not included: a server gives new ones to a repeated request, so
/// only positions can be compared.
@usableFromInline package struct ReplaySlot: Hashable, Sendable {
    /// The content of a slot.
    @usableFromInline package enum Kind: Hashable, Sendable, CaseIterable {
        /// Text of a message.
        case text
        /// A refusal of a message.
        case refusal
        /// A summary of the model's reasoning.
        case reasoningSummary
        /// The model's reasoning itself.
        case reasoningText
        /// The arguments or the input of a tool call, delivered while they are written.
        case toolCall
    }

    /// The slot's content.
    @usableFromInline package let kind: Kind
    /// The item's position in the response's output.
    @usableFromInline package let outputIndex: Int
    /// The content part's or the summary part's position in the item; 0 for a tool call.
    @usableFromInline package let partIndex: Int

    /// Creates a slot.
    @inlinable @inline(__always)
    package init(_ kind: Kind, outputIndex: Int, partIndex: Int = 0) {
        self.kind = kind
        self.outputIndex = outputIndex
        self.partIndex = partIndex
    }

    /// The item's first slot of the kind, which stands for all of them.
    package var item: Self { Self(self.kind, outputIndex: self.outputIndex) }

    /// Returns the slot of an item `itemCount` positions further on; nil where there is none.
    @inline(__always)
    func shifted(by itemCount: Int) -> Self? {
        let (outputIndex, hasOverflown) = self.outputIndex.addingReportingOverflow(itemCount)
        guard !hasOverflown else { return nil }
        return Self(self.kind, outputIndex: outputIndex, partIndex: self.partIndex)
    }
}
