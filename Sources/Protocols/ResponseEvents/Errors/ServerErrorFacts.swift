// The facts that a server reports about an error, in any of its shapes. Pure, and never an error itself.
import HTTPProtocol

/// The facts that a server reports about an error.
///
/// Facts that it does not report are nil. A machine-readable word has 256 bytes at most: a longer one is cut.
package struct ServerErrorFacts: Equatable, Sendable {
    /// The largest body that is read for facts.
    package static let maximumBodyByteCount = JSONDocumentValue.maximumByteCount

    /// The family of the error.
    package var type: String?
    /// The machine-readable code of the error.
    package var code: String?
    /// The description of the error, for people.
    ///
    /// It may contain content; it is never parsed, except for the delay hint.
    package var message: String?
    /// The parameter of the request that the error is about.
    package var parameter: String?
    /// The plan, as the server writes it.
    package var planType: String?
    /// The time at which a usage limit ends, in seconds since 1970.
    package var resetsAt: Int?
    /// The number of seconds until a usage limit ends.
    package var resetsInSeconds: Int?
    /// The length of the window of a usage limit, in minutes.
    package var limitWindowMinutes: Int?

    /// Creates facts of which none is known.
    package init() {}

    /// The error of a response that has failed.
    package init(_ summary: ResponseSummary) {
        self.code = summary.errorCode
        self.type = summary.errorType
        self.message = summary.errorMessage
    }

    /// Reads the body of a refusal: `{"error": …}`, `{"errors": […]}`, `{"detail": …}`, or the facts themselves; or an array
    /// with the first of these.
    ///
    /// Nil for HTML, for a body that is cut off or longer than `maximumBodyByteCount`, and for JSON without such facts.
    package init?(body: some Collection<UInt8>) {
        guard let root = JSONDocumentValue(object: body) ?? JSONDocumentValue(arrayOfErrors: body) else { return nil }
        self.init(root: root)
        if self == ServerErrorFacts() { return nil }
    }

    /// Reads a whole error body or error event.
    init(root: JSONDocumentValue) {
        let error = root.statedError.flatMap { $0.holdsFacts ? $0 : nil }
        let facts = error ?? root["detail"] ?? root
        self.init(facts: facts)
        // xAI writes `{"code": …, "error": "text"}`.
        if facts.string != nil { self.code = root["code"]?.scalarText?.word }
        // The type of an event is not a fact about the error.
        if error == nil, self.type == "error" { self.type = nil }
    }

    private init(facts: JSONDocumentValue) {
        if let message = facts.string {
            self.message = message
            return
        }
        self.type = facts["type"]?.scalarText?.word
        self.code = facts["code"]?.scalarText?.word
        self.message = (facts["message"] ?? facts["errorMessage"])?.string
        self.parameter = facts["param"]?.scalarText?.word
        self.planType = facts["plan_type"]?.string?.word
        self.resetsAt = facts["resets_at"]?.nonNegativeInteger
        self.resetsInSeconds = facts["resets_in_seconds"]?.nonNegativeInteger
        self.limitWindowMinutes = facts["limit_window_minutes"]?.nonNegativeInteger
    }

    /// The delay that the message of an ordinary rate limit asks for, in milliseconds.
    package var retryDelay: Int? {
        guard self.code == "rate_limit_exceeded", let message = self.message else { return nil }
        return RetryDelay.milliseconds(message: message)
    }
}

extension JSONDocumentValue {
    /// Indicates whether the value can describe an error; any other only says that there is one.
    fileprivate var holdsFacts: Bool {
        switch self {
        case .object, .string, .null: true
        case .array, .number, .bool: false
        }
    }

    fileprivate var nonNegativeInteger: Int? { self.integer.flatMap { $0 < 0 ? nil : $0 } }
}

/// An error outside a response object: the end of a response, or the refusal of a request on a WebSocket.
package struct ErrorEvent {
    /// The status code that an HTTP response would have had, from 100 to 999, without those of a success.
    package let statusCode: Int?
    /// The facts that the server reports about the error.
    package let facts: ServerErrorFacts
    /// The fields that an HTTP response would have had.
    package let headers: [(name: String, value: String)]

    init(statusCode: Int?, facts: ServerErrorFacts, headers: [(name: String, value: String)]) {
        self.statusCode = statusCode
        self.facts = facts
        self.headers = headers
    }

    /// Reads both shapes: the facts beside the event's type, and the facts in a member `error`.
    init(_ event: JSONDocumentValue) {
        // The last two are Azure API Management's and Mistral's.
        let names = ["status", "status_code", "statusCode", "raw_status_code"]
        let statusCode = names.lazy.compactMap { event[$0]?.integer }.first
        // A success code on an error carries no information.
        self.statusCode = statusCode.flatMap { (100..<200).contains($0) || (300...999).contains($0) ? $0 : nil }
        self.facts = ServerErrorFacts(root: event)
        self.headers = event["headers"]?.headerFields ?? []
    }
}

extension ServerErrorFacts {
    /// Returns the member `error` of an object as JSON text, cut to `byteCountLimit` bytes of UTF-8.
    ///
    /// Without that member the result is the object itself with `orWhole`, and otherwise nil.
    package static func payload(of object: [UInt8], byteCountLimit: Int, orWhole: Bool) -> String? {
        let members = try? JSONObjectText(object)
        let error = members?["error"].flatMap { $0.elementsEqual("null".utf8) ? nil : $0 }
        guard let json = error ?? (orWhole ? object[...] : nil) else { return nil }
        guard json.count > byteCountLimit else { return String(decoding: json, as: UTF8.self) }
        // A scalar is not cut in two (RFC 3629 section 3): the omitted part begins with the first byte of a scalar.
        var end = json.startIndex + max(0, byteCountLimit)
        while end > json.startIndex, json[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: json[..<end], as: UTF8.self)
    }
}
