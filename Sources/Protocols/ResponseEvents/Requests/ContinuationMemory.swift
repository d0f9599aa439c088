// The condition for sending only the new part of a request, and the data that it needs. A value without an owner.

/// The request and response that were exchanged last on one WebSocket, so that the next request on it can be shortened.
///
/// # The rule
///
/// A server keeps the newest response of a WebSocket in memory, with everything that led to it. A request continues it,
/// with `previous_response_id` and the rest of its input, when all of this is true:
///
/// 1. The previous response has ended well, and has an identifier.
/// 2. The two requests differ only in the input and in members that concern one transmission: stream options, client
/// metadata and warm-up. Members are compared as they are written.
/// 3. The items that were sent and received are, one by one, exactly the beginning of the new input. Items of the
/// response may be in it as the server sent them, or in the form of `InputItem`.
/// 4. Some input is left to send, except directly after a warm-up.
/// 5. Neither request names its own predecessor (`previous_response_id`, `conversation`): that is not part of its
/// input, and cannot be compared.
///
/// Any other request is sent whole. The caller ensures that the response is the newest one of the same socket.
package struct ContinuationMemory: Sendable {
    private let request: ResponseRequestBody
    /// The input of that request.
    private let input: [[UInt8]]
    /// The items of the response, in the form of `InputItem`.
    private let outputItems: [[UInt8]]
    private let responseID: String
    private let isWarmUp: Bool

    /// Stores a response that has ended well; nil when no request can continue it.
    ///
    /// - Parameters:
    ///   - request: the whole request, whatever part of it was sent.
    ///   - outputItems: the items of the response, in the form of `InputItem`.
    ///   - responseID: the response's identifier.
    ///   - isWarmUp: whether the request was sent to prepare the server only.
    package init?(request: ResponseRequestBody, outputItems: [[UInt8]], responseID: String?, isWarmUp: Bool = false) {
        guard let responseID, !responseID.isEmpty, !request.goesOnByItself, let input = request.inputItems else {
            return nil
        }
        self.request = request
        self.input = input
        self.outputItems = outputItems
        self.responseID = responseID
        self.isWarmUp = isWarmUp || request.isWarmUp
    }

    /// Returns the part of a request that is left to send; nil when it has to be sent whole.
    package func continuation(of request: ResponseRequestBody) -> ResponseRequestBody.Continuation? {
        guard !request.goesOnByItself, request.isContinuation(of: self.request),
            let elements = request.inputItems, let rest = self.rest(of: elements), !rest.isEmpty || self.isWarmUp
        else { return nil }
        return ResponseRequestBody.Continuation(
            previousResponseID: self.responseID, inputJSON: JSONArrayText.json(rest.map { $0[...] }))
    }

    /// Returns the elements after the items that the server has; nil when those are not the beginning.
    private func rest(of elements: [[UInt8]]) -> ArraySlice<[UInt8]>? {
        let (sent, received) = (self.input.count, self.outputItems.count)
        guard elements.count >= sent + received, elements[..<sent] == self.input[...] else { return nil }
        let items = zip(elements[sent..<(sent + received)], self.outputItems)
        guard items.allSatisfy({ $0 == $1 || InputItem($0)?.json == $1 }) else { return nil }
        return elements[(sent + received)...]
    }
}

extension ResponseRequestBody {
    /// Indicates whether the request names its own predecessor, whose content only the server knows.
    fileprivate var goesOnByItself: Bool { self.hasValue("previous_response_id") || self.hasValue("conversation") }
}
