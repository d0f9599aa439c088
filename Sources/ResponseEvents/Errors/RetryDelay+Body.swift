// The delay that a server asks for, in the text of its refusal. Pure.
package import HTTPProtocol

extension RetryDelay {
    /// Reads the delay that the text of a refusal states, in milliseconds.
    ///
    /// It is that of the member `headers`, which an error event of a WebSocket has, of a last line `retry-after: 3`, or
    /// of the message of an ordinary rate limit.
    package static func milliseconds(refusal text: String) -> Int? {
        if let root = JSONDocumentValue(object: text.utf8) {
            let headers = root["headers"]?.headerFields ?? []
            // A date has no meaning without the time at which it came: `refusal(_:stating:)` replaces it.
            return self.milliseconds(headers: headers.filter { Double(finite: $0.value) != nil }, now: 0)
                ?? ServerErrorFacts(root: root).retryDelay
        }
        let line = text.utf8.split(separator: UInt8(ascii: "\n")).last.map { Substring($0) } ?? ""
        guard line.hasPrefix(self.linePrefix) else { return nil }
        return self.milliseconds(headers: [("retry-after", String(line.dropFirst(self.linePrefix.count)))], now: 0)
    }

    /// Returns the text of a refusal that states a delay which the server named beside it, in milliseconds.
    ///
    /// JSON gets it where an error event of a WebSocket has it: `"headers":{"retry-after":"3"}`. Any other text, such as a
    /// page or none, gets a last line. A text that states it already is returned unchanged.
    package static func refusal(_ text: String, stating milliseconds: Int) -> String {
        guard self.milliseconds(refusal: text) != milliseconds else { return text }
        let seconds =
            milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000)" : "\(Double(milliseconds) / 1_000)"
        guard var object = try? JSONObjectText(Array(text.utf8)) else {
            return text + (text.isEmpty || text.hasSuffix("\n") ? "" : "\n") + self.linePrefix + seconds
        }
        object.set("retry-after", in: "headers", to: Array("\"\(seconds)\"".utf8))
        return String(decoding: object.json, as: UTF8.self)
    }

    private static let linePrefix = "retry-after: "
}
