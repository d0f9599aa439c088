// The readable text of an answer's body, in any of its shapes. Pure, and never an error itself.

extension ServerErrorFacts {
    /// Returns the readable text of a JSON body; nil when it is not JSON.
    ///
    /// The first of `error.message` (or an `error` that is text), `detail`, `message`, `errorMessage` and `title`, and
    /// otherwise the JSON text itself. A body that is cut off or longer than `maximumBodyByteCount` is not JSON.
    package static func words(inJSON body: some Collection<UInt8>) -> String? {
        guard body.count <= Self.maximumBodyByteCount else { return nil }
        // RFC 8259 section 8.1: a byte order mark may be ignored.
        let body = body.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(body.dropFirst(3)) : Array(body)
        guard let value = JSONDocumentValue(text: body) else { return nil }
        switch value {
        case .object: return value.wordsForPeople ?? String(decoding: body, as: UTF8.self)
        case .array(let elements):
            return elements.lazy.compactMap(\.wordsForPeople).first ?? String(decoding: body, as: UTF8.self)
        case .string(let text): return text
        case .number, .bool, .null: return String(decoding: body, as: UTF8.self)
        }
    }
}

extension JSONDocumentValue {
    /// The readable text of a refusal's body that is an object; nil when it has none.
    var wordsForPeople: String? { self.wordsOfError ?? self["title"]?.nonEmptyString }

    /// The text with which an object states an error, in any of the shapes of a refusal's body; nil for any other object.
    var wordsOfError: String? {
        let error = self.statedError
        if let words = error?["message"]?.nonEmptyString ?? error?.nonEmptyString { return words }
        if let words = self["detail"]?.detailWords ?? error?["detail"]?.detailWords { return words }
        return self["message"]?.nonEmptyString ?? self["errorMessage"]?.nonEmptyString
    }

    /// The value with which an object states an error: its member `error`, or the first object in a list `error` or
    /// `errors`.
    var statedError: JSONDocumentValue? {
        for name in ["error", "errors"] {
            if case .array(let elements)? = self[name], case .object? = elements.first { return elements.first }
        }
        return self["error"]
    }

    /// Reads the first object of an array, as which Google's servers write an error (reported: TokenRhythm/opensquilla issue
    /// 225); nil for any other text, and for an object that states no error.
    init?(arrayOfErrors json: some Collection<UInt8>) {
        guard json.count <= Self.maximumByteCount, case .array(let elements)? = JSONDocumentValue(text: json),
            let root = elements.first
        else { return nil }
        switch root.statedError {
        case .object, .string: self = root
        case .array, .number, .bool, .null, nil: return nil
        }
    }

    private var nonEmptyString: String? { self.string.flatMap { $0.isEmpty ? nil : $0 } }

    /// The text of a `detail`: text, an object with a message, or FastAPI's list of a request's faults.
    private var detailWords: String? {
        switch self {
        case .string: return self.nonEmptyString
        case .object: return self["message"]?.nonEmptyString ?? self["msg"]?.nonEmptyString
        case .array(let elements):
            let words = elements.compactMap(\.faultWords)
            return words.isEmpty ? nil : words.joined(separator: "; ")
        case .number, .bool, .null: return nil
        }
    }

    private var faultWords: String? {
        guard let message = self.nonEmptyString ?? self["msg"]?.nonEmptyString else { return nil }
        guard case .array(let path)? = self["loc"] else { return message }
        return path.compactMap(\.scalarText).joined(separator: ".") + ": " + message
    }
}
