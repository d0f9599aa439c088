// What a turn needs of a response object at its end. A response ends once, so its strings are copied.

import CSimdjson

/// What a turn needs of a response object.
///
/// Words for programs have 256 bytes at most: a longer one is cut.
package struct ResponseSummary {
    /// The response's identifier.
    package let id: String?
    /// `completed`, `failed`, `incomplete`, `cancelled`, `queued` or `in_progress`.
    package let status: String?
    /// The model that answered.
    package let model: String?
    /// Why the response failed, in a word meant for programs.
    package let errorCode: String?
    /// The family of the error, where a server says it.
    package let errorType: String?
    /// Why the response failed, in words meant for people.
    package let errorMessage: String?
    /// Why the response is incomplete.
    package let incompleteReason: String?
    /// `end_turn`: false when the model wants to be asked again without tool output.
    package let endsTurn: Bool?
    /// The tokens it cost, if the server counted any.
    package let usage: TokenUsage?
    /// The elements of `output`, in order; empty when there is no such array.
    ///
    /// An element that is no object is an item of no kind and without members. Of more than
    /// `maximumOutputCount` elements the first ones are given.
    package let output: [ItemSummary]
    /// The response object as it was sent, valid until the decoder is used again.
    package let json: BorrowedText
}

/// The tokens that a response cost.
///
/// A count is nil when the server did not say it.
package struct TokenUsage: Equatable, Sendable {
    /// Tokens of the request.
    package var inputTokens: Int?
    /// Tokens of the request that were found in a cache.
    package var cachedInputTokens: Int?
    /// Tokens of the answer.
    package var outputTokens: Int?
    /// Tokens of the answer that were reasoning.
    package var reasoningTokens: Int?
    /// All tokens together.
    package var totalTokens: Int?

    /// Collects counts; all are nil unless given.
    package init(
        inputTokens: Int? = nil, cachedInputTokens: Int? = nil, outputTokens: Int? = nil,
        reasoningTokens: Int? = nil, totalTokens: Int? = nil
    ) {
        self.inputTokens = inputTokens
        self.cachedInputTokens = cachedInputTokens
        self.outputTokens = outputTokens
        self.reasoningTokens = reasoningTokens
        self.totalTokens = totalTokens
    }
}

extension ResponseSummary {
    /// The most elements of `output` that are given: 16,384.
    package static let maximumOutputCount = Int(CSJ_MAXIMUM_OUTPUT_COUNT)

    /// The elements of `output`, each as JSON text; none when there is no such array.
    ///
    /// To be asked before the decoder is used again.
    package var outputItems: [[UInt8]] {
        guard let object = try? JSONObjectText(Array(self.json.utf8)), let output = object["output"] else { return [] }
        return JSONArrayText(output)?.elements.map { Array($0.json) } ?? []
    }

    /// The member `error` as JSON text, cut to so many bytes of UTF-8; nil when the response has none.
    ///
    /// To be asked before the decoder is used again.
    package func errorPayload(byteCountLimit: Int) -> String? {
        ServerErrorFacts.payload(of: Array(self.json.utf8), byteCountLimit: byteCountLimit, orWhole: false)
    }
}
