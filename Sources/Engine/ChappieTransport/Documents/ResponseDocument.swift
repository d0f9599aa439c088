import ResponseEvents

/// A response object that came as a whole document, in the answer to a GET or to a cancellation.
///
/// A value without an owner; it is made without I/O.
struct ResponseDocument {
    /// The response, without the server's name for the request.
    let response: ChappieResponse
    /// Indicates whether the output has more items than are read.
    let isOutputCut: Bool

    /// Reads a document; nil when it is not one response object with a status.
    init?(_ body: [UInt8]) {
        // Only a whole object can become a member: text behind it would add members to the event.
        guard (try? JSONObjectText(body)) != nil else { return nil }
        // A response's end has the same object.
        let padding = repeatElement(UInt8(0), count: ResponseEventDecoder.paddingByteCount)
        let event = Array(#"{"type":"response.completed","response":"#.utf8) + body + Array("}".utf8) + padding
        let read = unsafe event.withUnsafeBytes { bytes -> (response: ChappieResponse, isOutputCut: Bool)? in
            let json = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - padding.count)])
            var decoder = ResponseEventDecoder(maximumByteCount: json.count)
            guard case .completed(let summary)? = unsafe (try? decoder.decode(json))?.kind,
                let status = summary.status, !status.isEmpty
            else { return nil }
            return (ChappieResponse(retrieved: summary, status: status), summary.isOutputCut)
        }
        guard let read else { return nil }
        self.response = read.response
        self.isOutputCut = read.isOutputCut
    }
}

extension ChappieResponse {
    /// Creates a response with its text and its items; the decoder of the summary must not have been used again.
    fileprivate init(retrieved summary: ResponseSummary, status: String) {
        self.init(summary, statedStatus: status, byteCountLimit: Self.errorPayloadByteCountLimit)
        for item in summary.output where !item.isAside {
            for part in item.parts where part.kind == .text { self.outputText += String(part.text) }
        }
        self.outputItems = summary.outputItems.map { String(decoding: $0, as: UTF8.self) }
    }
}
