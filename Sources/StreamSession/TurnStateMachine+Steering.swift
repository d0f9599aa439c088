// What a steered response changes: it is followed by another one, and the request is never sent again.

extension TurnStateMachine {
    /// Something was put into the running response: to send the request again would lose it, so a failure is the end.
    package mutating func steered() { self.isSteered = true }

    /// The response has ended because it was steered, and its successor follows on the same connection.
    ///
    /// What comes is new: the successor goes on from the response, and repeats nothing of it.
    package mutating func successorFollows(attempt: Int, after previousResponseID: String? = nil) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        // This response will not repeat what was delivered of another.
        guard self.ledger.beginSuccessor() else { return self.fail(.diverged, nil) }
        self.readsAnotherResponse(after: previousResponseID)
        return .ignore
    }
}
