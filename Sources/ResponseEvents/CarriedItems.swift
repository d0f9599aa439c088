// Finished output items as input of the next request: so that only what is unfinished is made again.

extension ResponseRequestBody {
    /// The same request with finished output items and outputs of tools behind its input.
    ///
    /// Each is one JSON object, in order. Identifiers and statuses are left out: without storage a server knows none of
    /// them. So is reasoning that is not encrypted, which it would refuse. Nil when the input is neither a text nor an
    /// array.
    package func appendingInput(_ items: [[UInt8]]) -> Self? {
        guard let own = self.inputItems else { return nil }
        let carried = items.compactMap { Self.inputItem($0) }
        var result = self
        result.replaceInput(with: JSONArrayText.json(own.map { $0[...] } + carried.map { $0[...] }))
        return result
    }

    /// An output item as an input item; nil for one that no server takes back.
    private static func inputItem(_ json: [UInt8]) -> [UInt8]? {
        guard var item = try? JSONObjectText(json) else { return nil }
        if item["type"].map({ $0.elementsEqual("\"reasoning\"".utf8) }) ?? false {
            guard let content = item["encrypted_content"], content.first == UInt8(ascii: "\"") else { return nil }
        }
        item["id"] = nil
        item["status"] = nil
        return item.json
    }
}
