// Finished output items as input of the next request: so that only what is unfinished is made again.

extension ResponseRequestBody {
    /// The same request with finished output items and outputs of tools behind its input.
    ///
    /// Each is one JSON object, in order, and goes in as `InputItem` has it; what has no such form is left out. Nil when
    /// the input is neither a text nor an array.
    package func appendingInput(_ items: [[UInt8]]) -> Self? {
        guard let own = self.inputItems else { return nil }
        let carried = items.compactMap { InputItem($0)?.json }
        var result = self
        result.replaceInput(with: JSONArrayText.json(own.map { $0[...] } + carried.map { $0[...] }))
        return result
    }
}
