// Events that are no JSON and mean nothing: signs of life, and the mark behind a stream. Pure.

/// Text in place of an event's JSON that carries nothing.
///
/// Servers, frameworks and proxies write these into streams of any API: `event: ping` with a time or nothing as its
/// data, `data: keepalive`, and `[DONE]`, which does not mean that a response is complete.
package enum SignOfLifeText {
    private static let endMark = "[done]"
    private static let words = ["ping", "heartbeat", "keepalive", "keep-alive", endMark]

    /// Returns whether data that is no JSON object is such text, by the whole data or by the event's type.
    ///
    /// The case of letters, white space around the data and quotation marks do not count. Anything may follow `[DONE]`.
    package static func isOne(_ data: UnsafeRawBufferPointer, named type: UnsafeRawBufferPointer? = nil) -> Bool {
        if let type = unsafe type, unsafe Self.words.contains(Self.word(type)) { return true }
        // A WebSocket has empty messages; an event stream drops an event without data by itself.
        if unsafe data.allSatisfy({ " \t\r\n".utf8.contains($0) }) { return true }
        let word = unsafe Self.word(data)
        return Self.words.contains(word) || word.hasPrefix(Self.endMark)
    }

    /// Returns the beginning of a text, as long as a word of the list needs, in the form in which words are compared.
    private static func word(_ bytes: UnsafeRawBufferPointer) -> String {
        let isAround: (UInt8) -> Bool = { " \t\r\n\"".utf8.contains($0) }
        let rest = unsafe bytes.drop(while: isAround)
        guard let end = unsafe rest.lastIndex(where: { !isAround($0) }) else { return "" }
        return unsafe String(decoding: rest[...end].prefix(16), as: UTF8.self).lowercased()
    }
}
