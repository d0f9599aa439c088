// Finished output items as input of the next request, so that only unfinished output is generated again.

extension ResponseRequestBody {
    /// Returns the same request with finished output items and outputs of tools appended to its input.
    ///
    /// Each is one JSON object, in order, and is added in the form of `InputItem`; items without such a form are left
    /// out. Nil when the input is neither a text nor an array.
    package func appendingInput(_ items: [[UInt8]]) -> Self? {
        guard let own = self.inputItems else { return nil }
        let carried = items.compactMap { InputItem($0)?.json }
        var result = self
        result.replaceInput(with: JSONArrayText.json(own.map { $0[...] } + carried.map { $0[...] }))
        return result
    }
}
