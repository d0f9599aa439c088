// Events without a type, and events of other APIs. They are rare, and are read as whole documents. Pure.

/// An event without a known type: an error of a gateway, or an event of another API.
///
/// Gateways write an error into a stream of status code 200, or into a WebSocket, as they write it into a body:
/// `{"error": …}`, `{"errors": […]}` (Cloudflare, reported: cloudflare/cloudflare-docs issue 15116), `{"detail": …}`
/// (FastAPI), `{"message": …}` (AWS API Gateway) or `{"errorMessage": …}` (AWS Lambda), with or without other members.
package enum UntypedEvent {
    /// The server's error.
    case error(ErrorEvent)
    /// An event of another API.
    case otherAPI(ChappieDialect)

    /// Reads an object without a type; nil for one without data, with which some servers pad their streams, and for
    /// text that is not an object or longer than 64 KiB.
    ///
    /// An object that has a type, or that is the data of a server-sent event with one (`named`), is an error by its member
    /// `error` or `errors` alone: such an event may be about a message. So is the first object of an array.
    package init?(_ json: UnsafeRawBufferPointer, named type: UnsafeRawBufferPointer? = nil) {
        guard let root = JSONDocumentValue(object: json) else {
            guard let root = JSONDocumentValue(arrayOfErrors: json) else { return nil }
            self = .error(ErrorEvent(untyped: root))
            return
        }
        let isNamed = unsafe type.map { unsafe !$0.elementsEqual("message".utf8) } ?? false
        if Self.hasError(root) {
            self = .error(ErrorEvent(untyped: root))
        } else if Self.isChatCompletion(root) {
            self = .otherAPI(.chatCompletions)
        } else if !isNamed, root["type"]?.string == nil, root.wordsOfError != nil || Self.isProblem(root) {
            self = .error(ErrorEvent(untyped: root))
        } else {
            return nil
        }
    }

    /// Reads the data of a server-sent event whose event type is `error`; nil for JSON with a type of the Responses
    /// API, which is decoded by that type.
    ///
    /// The data may be facts, `{"error": …}`, plain text, or empty.
    package init?(dataOfError data: UnsafeRawBufferPointer) {
        guard let root = JSONDocumentValue(object: data) ?? JSONDocumentValue(arrayOfErrors: data) else {
            let words =
                ServerErrorFacts.words(inJSON: data)
                ?? String(decoding: data.prefix(JSONDocumentValue.maximumByteCount), as: UTF8.self)
            self = .error(ErrorEvent(words: words))
            return
        }
        if let type = root["type"]?.string, type == "error" || type.hasPrefix("response.") { return nil }
        self = .error(ErrorEvent(untyped: root))
    }

    /// Reads an event of a type that the Responses API does not have; nil for one of an unknown API without an error.
    ///
    /// The type may be an error's, such as `BadRequestError` or `rate_limit_error`, or the URI of a problem, such as
    /// `about:blank` (RFC 9457 section 3.1.1). It may be any other without a dot if the object has words and either
    /// `"object":"error"` or the number of a status code (recorded: Mistral's `invalid_model`, Doubleword's `Bad Request`).
    package init?(_ json: UnsafeRawBufferPointer, ofUnknownType type: BorrowedText) {
        let isNamedSo = type.utf8.isEmpty || type.utf8.suffix(4).elementsEqual("rror".utf8)
        // Names of events have dots, and such an event may be about the error of a tool.
        let isWord = !type.utf8.contains(UInt8(ascii: "."))
        if type.utf8.elementsEqual("message_start".utf8) {
            self = .otherAPI(.messages)
        } else if isNamedSo || isWord || type.utf8.contains(UInt8(ascii: ":")),
            let root = JSONDocumentValue(object: json),
            isNamedSo && (Self.hasError(root) || root["message"]?.string != nil) || isWord && Self.isFlatError(root)
                || Self.isProblem(root)
        {
            self = .error(ErrorEvent(untyped: root))
        } else {
            return nil
        }
    }

    /// Passes on an object without a type, with the type of its server-sent event added; returns false if that is not
    /// one of the Responses API's.
    ///
    /// Behind the bytes that `body` gets there are as many others as a decoder needs.
    package static func with(
        _ type: UnsafeRawBufferPointer, addedTo json: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        let name = unsafe Array(type)
        let object = unsafe Array(json)
        let isName = name.allSatisfy {
            (0x61...0x7A).contains($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "_")
        }
        guard isName, name.starts(with: "response.".utf8), let brace = object.firstIndex(of: UInt8(ascii: "{")) else {
            return false
        }
        let members = object[(brace + 1)...]
        let isEmpty = members.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "}")
        let event = Array(#"{"type":""#.utf8) + name + Array((isEmpty ? "\"" : "\",").utf8) + members
        let padded = event + repeatElement(0, count: ResponseEventDecoder.paddingByteCount)
        unsafe padded.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0.prefix(event.count))) }
        return true
    }

    /// A member that is empty, false or zero, or has nothing but such values, states that there is no error.
    private static func hasError(_ root: JSONDocumentValue) -> Bool {
        root.statedError?.isEmptyOrZero == false || root["object"]?.string == "error"
    }

    /// Returns whether an object describes a problem (RFC 9457): it has the status code of an error, and words.
    private static func isProblem(_ root: JSONDocumentValue) -> Bool {
        (400..<600).contains(root["status"]?.integer ?? 0) && root.wordsForPeople != nil
    }

    /// Returns whether an object with words says that it is an error, or has a status code of one as its code.
    private static func isFlatError(_ root: JSONDocumentValue) -> Bool {
        guard root.wordsForPeople != nil else { return false }
        return root["object"]?.string == "error" || (400..<600).contains(root["code"]?.integer ?? 0)
    }

    private static func isChatCompletion(_ root: JSONDocumentValue) -> Bool {
        if let object = root["object"]?.string {
            return object.hasPrefix("chat.completion") || object == "text_completion"
        }
        guard case .array? = root["choices"] else { return false }
        return true
    }
}

extension JSONDocumentValue {
    /// Indicates whether the value is empty, false or zero, or has nothing but such values.
    fileprivate var isEmptyOrZero: Bool {
        switch self {
        case .object(let members): members.allSatisfy(\.value.isEmptyOrZero)
        case .array(let elements): elements.allSatisfy(\.isEmptyOrZero)
        case .string(let text): text.isEmpty
        case .number(let digits): digits == "0"
        case .bool(let value): !value
        case .null: true
        }
    }
}

extension ErrorEvent {
    /// Reads an error without an event's type.
    ///
    /// Its code may be a status code, as a number or as its digits.
    fileprivate init(untyped root: JSONDocumentValue) {
        let event = ErrorEvent(root)
        let number = event.facts.code.flatMap { Int($0) }.flatMap { (400...599).contains($0) ? $0 : nil }
        self.init(statusCode: event.statusCode ?? number, facts: event.facts, headers: event.headers)
    }

    /// Creates an error that consists of text only.
    fileprivate init(words: String) {
        var facts = ServerErrorFacts()
        facts.message = words.isEmpty ? nil : words
        self.init(statusCode: nil, facts: facts, headers: [])
    }
}
