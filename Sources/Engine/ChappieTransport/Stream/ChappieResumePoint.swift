import StreamSession

/// A position in a response that the server keeps: behind the event with a number.
///
/// `ChappieStreamHandle.resumePoint` has it, and `ChappieStreamingTransport.resume(_:after:)` and the other calls that
/// resume continue there, in another process too. It can be stored as a text, `resp_1@42`, or encoded.
///
/// ```swift
/// let point = ChappieResumePoint("resp_1@42")
/// ```
public struct ChappieResumePoint: Sendable, Hashable, Codable {
    /// The response's identifier.
    public var responseID: String
    /// The number (`sequence_number`) of the last event that was delivered, at least 0; nil before the first event.
    public var sequenceNumber: Int?

    /// Creates a position; without a number it is the response's beginning.
    public init(responseID: String, sequenceNumber: Int? = nil) {
        self.responseID = responseID
        self.sequenceNumber = sequenceNumber
    }

    init(_ cursor: ResumeCursor) {
        self.init(responseID: cursor.responseID, sequenceNumber: cursor.lastSequenceNumber)
    }

    var cursor: ResumeCursor { ResumeCursor(responseID: self.responseID, lastSequenceNumber: self.sequenceNumber) }
}

extension ChappieResumePoint: LosslessStringConvertible {
    /// Reads the text of a position: the identifier, `@`, and the number, if there is one; nil for another text.
    public init?(_ description: String) {
        guard let separator = description.lastIndex(of: "@") else { return nil }
        let digits = description[description.index(after: separator)...]
        let isNumber = digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let number = Int(digits)
        guard isNumber, digits.isEmpty || number != nil, separator > description.startIndex else { return nil }
        self.init(responseID: String(description[..<separator]), sequenceNumber: number)
    }

    /// The identifier and the number, such as `resp_1@42`; `resp_1@` before the first event.
    public var description: String { "\(self.responseID)@\(self.sequenceNumber.map(String.init) ?? "")" }
}
