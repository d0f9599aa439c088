/// A finished tool call, as it was handed to the consumer.
///
/// Immutable values without an owner. Two are equal when their bytes are: Swift's string comparison would treat
/// canonically equivalent arguments as the same, which a tool does not. Call identifiers are not included, as a server
/// gives new ones to a repeated request.
package struct ReplayedToolCall: Sendable, Hashable {
    /// The kind of the called tool.
    package enum Kind: Sendable {
        /// A function, whose arguments are JSON.
        case function
        /// A custom tool, whose input is any text.
        case custom
    }

    /// The kind of the called tool.
    package let kind: Kind
    /// The item's position in the response's output.
    package let outputIndex: Int
    /// The tool's name.
    package let name: String
    /// The tool's namespace, where it has one.
    package let namespace: String?
    /// A function's arguments, in a canonical form that the caller provides, or a custom tool's input as received.
    ///
    /// With arguments that are not canonical, two spellings of a call are two calls.
    package let arguments: String

    /// Creates a call.
    package init(
        _ kind: Kind = .function, outputIndex: Int, name: String, namespace: String? = nil, arguments: String
    ) {
        self.kind = kind
        self.outputIndex = outputIndex
        self.name = name
        self.namespace = namespace
        self.arguments = arguments
    }

    /// Returns whether every byte is the same.
    package static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind
            && left.outputIndex == right.outputIndex
            && left.name.utf8.elementsEqual(right.name.utf8)
            && (left.namespace == nil) == (right.namespace == nil)
            && (left.namespace ?? "").utf8.elementsEqual((right.namespace ?? "").utf8)
            && left.arguments.utf8.elementsEqual(right.arguments.utf8)
    }

    /// Hashes all bytes that equality compares.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(self.kind)
        hasher.combine(self.outputIndex)
        for text in [self.name, self.namespace ?? "", self.arguments] {
            hasher.combine(text.utf8.count)
            for byte in text.utf8 { hasher.combine(byte) }
        }
    }

    /// Returns the call of an item `itemCount` positions further on; nil where there is none.
    func shifted(by itemCount: Int) -> Self? {
        let (outputIndex, hasOverflown) = self.outputIndex.addingReportingOverflow(itemCount)
        guard !hasOverflown else { return nil }
        return Self(
            self.kind, outputIndex: outputIndex, name: self.name, namespace: self.namespace, arguments: self.arguments)
    }
}
