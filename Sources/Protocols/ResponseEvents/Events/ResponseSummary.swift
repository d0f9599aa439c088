// The members of a response object that a turn needs at its end. A response ends once, so its strings are copied.

import CSimdjson

/// The members of a response object that a turn needs.
///
/// Machine-readable words have 256 bytes at most: a longer one is cut.
package struct ResponseSummary {
    /// The response's identifier.
    package let id: String?
    /// `completed`, `failed`, `incomplete`, `cancelled`, `queued` or `in_progress`.
    package let status: String?
    /// The model that generated the response.
    package let model: String?
    /// The service tier that has generated the response.
    package let serviceTier: String?
    /// The machine-readable code of the failure.
    package let errorCode: String?
    /// The family of the error, where the server names it.
    package let errorType: String?
    /// The description of the failure, for people.
    package let errorMessage: String?
    /// The reason for which the response is incomplete.
    package let incompleteReason: String?
    /// `end_turn`: false when the model asks to be called again without tool output.
    package let endsTurn: Bool?
    /// The tokens it cost, if the server counted any.
    package let usage: ChappieTokenUsage?
    /// The elements of `output`, in order; empty when there is no such array.
    ///
    /// An element that is not an object is an item of no kind and without members. Only the first `maximumOutputCount`
    /// elements are listed.
    package let output: [ItemSummary]
    /// Indicates whether `output` has more elements than are listed.
    package let isOutputCut: Bool
    /// The response object as it was sent, valid until the decoder is used again.
    package let json: BorrowedText
}

extension ResponseSummary {
    /// Indicates whether the response states an error: an object whose members are absent or empty is none.
    package var hasError: Bool {
        [self.errorCode, self.errorType, self.errorMessage].contains { $0?.isEmpty == false }
    }

    /// The most elements of `output` that are listed: 16,384.
    package static let maximumOutputCount = Int(CSJ_MAXIMUM_OUTPUT_COUNT)

    /// The elements of `output`, each as JSON text; none when there is no such array.
    ///
    /// Valid until the decoder is used again.
    package var outputItems: [[UInt8]] {
        guard let object = try? JSONObjectText(Array(self.json.utf8)), let output = object["output"] else { return [] }
        return JSONArrayText(output)?.elements.map { Array($0.json) } ?? []
    }

    /// Returns the member `error` as JSON text, cut to `byteCountLimit` bytes of UTF-8; nil when the response has none.
    ///
    /// Must be called before the decoder is used again.
    package func errorPayload(byteCountLimit: Int) -> String? {
        ServerErrorFacts.payload(of: Array(self.json.utf8), byteCountLimit: byteCountLimit, orWhole: false)
    }
}
