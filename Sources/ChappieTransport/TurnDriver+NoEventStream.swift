import ResponseEvents
import StreamSession
import StreamTransport

/// Answers that claim success and are no event stream: what they say goes into the error.
extension TurnDriver {
    /// Whether the head claims success and a content type that is not an event stream's.
    var isOtherContent: Bool {
        guard let attempt = self.attempts.current, attempt.transport == .httpSSE else { return false }
        return attempt.stage == .refused && attempt.head?.statusCode == 200
    }

    /// Keeps the beginning of a body that begins as JSON or HTML does, and no line of an event stream.
    ///
    /// The content type is that of an event stream; of a real one, nothing is kept.
    func keepOtherDocument(_ bytes: UnsafeRawBufferPointer) {
        let limit = self.engine.configuration.limits.errorBodyByteCount
        guard let count = self.attempts.current?.refusal.count, count < limit else { return }
        if count == 0 {
            // A byte order mark may come first, and blanks.
            let first = unsafe bytes.first { ![0x09, 0x0A, 0x0C, 0x0D, 0x20, 0xEF, 0xBB, 0xBF].contains($0) }
            guard first.map({ "{[<".utf8.contains($0) }) == true else { return }
        }
        unsafe self.attempts.current?.refusal.append(contentsOf: bytes.prefix(limit - count))
    }

    /// Whether the body, which has no event, is JSON or HTML: then it is the server's word about the error.
    var isOtherDocument: Bool {
        guard let attempt = self.attempts.current, attempt.stage == .streaming, attempt.transport == .httpSSE,
            !attempt.hasEvents,
            !attempt.refusal.isEmpty
        else { return false }
        let body = String(decoding: attempt.refusal, as: UTF8.self)
        let isPage = WebPage(body) != nil
        guard isPage || ServerErrorFacts.words(inJSON: attempt.refusal) != nil else { return false }
        self.evidence.body = body
        self.attempts.current?.isPage = isPage
        return true
    }
}

extension ResponseHead {
    /// The content type without its parameters, in lower case.
    private var mediaType: String? {
        self.value(of: "content-type")?.prefix { $0 != ";" && $0 != " " }.lowercased()
    }

    /// Whether the content type is `text/event-stream`, or absent: some servers name none.
    var isEventStream: Bool { self.mediaType.map { $0 == "text/event-stream" } ?? true }

    /// Whether the body may have words for a person: JSON (RFC 8259 section 11, RFC 6839 section 3.1), a page or text.
    var hasWords: Bool {
        guard let mediaType = self.mediaType else { return false }
        return ["application/json", "text/plain"].contains(mediaType) || mediaType.hasSuffix("+json")
            || WebPage.isContentType(mediaType)
    }
}
