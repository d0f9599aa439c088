// When a request may send only what is new: the rule, and what it needs to know. A value; nobody owns it.

/// What was sent and received last on one WebSocket, so that the next request on it can send only what is new.
///
/// # The rule
///
/// A server keeps the newest response of a WebSocket in memory, and with it everything that led to it. A request
/// continues it, with `previous_response_id` and the rest of its input, when all of this is true:
///
/// 1. The response before has ended well, and has an identifier.
/// 2. The two requests differ in nothing but the input and what concerns one sending only: what stream options, client
///    metadata and warm-up say. Members are compared as they are written.
/// 3. What was sent and what was received, item by item, is the beginning of the new input, exactly. Items of the
///    response may stand there as the server sent them, or as `InputItem` has them.
/// 4. Something is left to send, except directly behind a warm-up.
/// 5. Neither request says itself what it goes on from (`previous_response_id`, `conversation`): that is then no part
///    of its input, and cannot be compared.
///
/// Everything else is sent whole. That the response is the newest one of this very socket is for the caller to see to.
package struct ContinuationMemory: Sendable {
    private let request: ResponseRequestBody
    /// The input of that request.
    private let input: [[UInt8]]
    /// The items of the response, as `InputItem` has them.
    private let outputItems: [[UInt8]]
    private let responseID: String
    private let isWarmUp: Bool

    /// Remembers a response that has ended well; nil when none can continue it.
    ///
    /// - Parameters:
    ///   - request: the whole request, whatever part of it was sent.
    ///   - outputItems: the items of the response, as `InputItem` has them.
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

    /// What is left to send of a request; nil when it has to be sent whole.
    package func continuation(of request: ResponseRequestBody) -> ResponseRequestBody.Continuation? {
        guard !request.goesOnByItself, request.isContinuation(of: self.request),
            let elements = request.inputItems, let rest = self.rest(of: elements), !rest.isEmpty || self.isWarmUp
        else { return nil }
        return ResponseRequestBody.Continuation(
            previousResponseID: self.responseID, inputJSON: JSONArrayText.json(rest.map { $0[...] }))
    }

    /// What stands behind the items that the server has; nil when those are not its beginning.
    private func rest(of elements: [[UInt8]]) -> ArraySlice<[UInt8]>? {
        let (sent, received) = (self.input.count, self.outputItems.count)
        guard elements.count >= sent + received, elements[..<sent] == self.input[...] else { return nil }
        let items = zip(elements[sent..<(sent + received)], self.outputItems)
        guard items.allSatisfy({ $0 == $1 || InputItem($0)?.json == $1 }) else { return nil }
        return elements[(sent + received)...]
    }
}

extension ResponseRequestBody {
    /// Indicates whether the request says itself what it goes on from, which is the server's to know.
    fileprivate var goesOnByItself: Bool { self.hasValue("previous_response_id") || self.hasValue("conversation") }
}
