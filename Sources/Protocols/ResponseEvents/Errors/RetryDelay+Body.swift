// The delay that a server asks for, in the text of its refusal. Pure.
package import HTTPProtocol

extension RetryDelay {
    /// Returns the text of a refusal that states a delay which the server named beside it, in milliseconds.
    ///
    /// JSON gets it where an error event of a WebSocket has it: `"headers":{"retry-after":"3"}`. Any other text, such as a
    /// page or none, gets a last line. A text that states it already is returned unchanged.
    package static func refusal(_ text: String, stating milliseconds: Int) -> String {
        guard RefusalText(text).retryAfter != .milliseconds(milliseconds) else { return text }
        let seconds =
            milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000)" : "\(Double(milliseconds) / 1_000)"
        guard var object = try? JSONObjectText(Array(text.utf8)) else {
            return text + (text.isEmpty || text.hasSuffix("\n") ? "" : "\n") + self.linePrefix + seconds
        }
        object.set("retry-after", in: "headers", to: Array("\"\(seconds)\"".utf8))
        return String(decoding: object.json, as: UTF8.self)
    }

    /// Returns the text of a refusal as a person is shown it: without the delay that `refusal(_:stating:)` adds.
    package static func withoutStatement(_ text: String) -> String {
        let line = self.statement(in: text)
        guard line.isEmpty else { return String(text[..<line.startIndex]) }
        guard var object = try? JSONObjectText(Array(text.utf8)), let headers = object["headers"],
            let names = try? JSONObjectText(Array(headers)).members.map(\.name), names == ["retry-after"]
        else { return text }
        object["headers"] = nil
        return String(decoding: object.json, as: UTF8.self)
    }

    /// Returns the text of a refusal with other text in place of the server's, and the last line as it is.
    package static func refusal(_ text: String, replacingText replace: (String) -> String) -> String {
        let line = self.statement(in: text)
        return replace(String(text[..<line.startIndex])) + line
    }

    private static let linePrefix = "retry-after: "

    /// Returns the last line of a text, and the end of the line before it, if it states a delay; empty otherwise.
    fileprivate static func statement(in text: String) -> Substring {
        let start = text.utf8.lastIndex(of: UInt8(ascii: "\n")) ?? text.startIndex
        return self.milliseconds(line: text[start...]) == nil ? text[text.endIndex...] : text[start...]
    }

    fileprivate static func milliseconds(line: Substring) -> Int? {
        let words = Substring(line.utf8.drop { $0 == UInt8(ascii: "\n") })
        guard words.hasPrefix(self.linePrefix) else { return nil }
        return Double(finite: String(words.dropFirst(self.linePrefix.count))).flatMap { self.positive($0 * 1_000) }
    }
}

/// The text of a refusal, read once.
package struct RefusalText {
    /// The facts about the error; nil for a text without any.
    package let error: ServerErrorFacts?
    /// The delay that the text states.
    ///
    /// It is that of the member `headers`, which an error event of a WebSocket has, of a last line `retry-after: 3`, or
    /// of the message of an ordinary rate limit.
    package let retryAfter: Duration?
    /// The text for a person, without the delay that `refusal(_:stating:)` adds.
    package let words: String

    /// Reads a text.
    package init(_ text: String) {
        guard let root = JSONDocumentValue(object: text.utf8) else {
            let own = RetryDelay.withoutStatement(text)
            self.error = ServerErrorFacts(body: own.utf8)
            let stated = RetryDelay.milliseconds(line: RetryDelay.statement(in: text))
            self.retryAfter = (stated ?? self.error?.retryDelay).map { .milliseconds($0) }
            self.words = ServerErrorFacts.words(inJSON: own.utf8) ?? own
            return
        }
        let error = ServerErrorFacts(root: root)
        self.error = error
        // A date has no meaning without the time at which it came: `refusal(_:stating:)` replaces it.
        let headers = root["headers"]?.headerFields.filter { Double(finite: $0.value) != nil } ?? []
        self.retryAfter = (RetryDelay.milliseconds(headers: headers, now: 0) ?? error.retryDelay).map {
            .milliseconds($0)
        }
        self.words = root.wordsForPeople ?? RetryDelay.withoutStatement(text)
    }
}
