package import ResponseEvents

/// The items of a turn so far.
///
/// A pure value. Its owner is the turn, under its lock.
package struct TurnJournal: Sendable, Equatable {
    /// A call that waits for its output.
    private struct OpenCall: Equatable {
        let call: FinishedCall
        var output: [UInt8]?
    }

    /// The turn's own input, then the items and outputs of its complete responses.
    package private(set) var items: [[UInt8]]
    private var openCalls: [OpenCall] = []
    /// The positions of the open calls, by `call_id`: a response may have thousands.
    private var positions: [ExactText: Int] = [:]
    private var hasCompletedResponse = false

    /// Creates the journal of a turn with its input.
    package init(input: [[UInt8]]) { self.items = input }

    /// Records a complete response.
    package mutating func completed(_ items: [[UInt8]], calls: [FinishedCall]) {
        self.items += items
        self.hasCompletedResponse = true
        // A call that occurs twice has one output.
        for call in calls where self.positions[ExactText(call.callID)] == nil {
            self.positions[ExactText(call.callID)] = self.openCalls.count
            self.openCalls.append(OpenCall(call: call))
        }
    }

    /// Records the output of a call of the newest response.
    package mutating func answered(_ callID: String, with output: [UInt8]) {
        guard let position = self.positions[ExactText(callID)] else { return }
        self.openCalls[position].output = output
    }

    /// Appends the outputs after the response, in the order of the calls.
    ///
    /// A call without an output gets the text `aborted`: each call must have exactly one output, or servers refuse the
    /// next request.
    package mutating func close() {
        self.items += self.openCalls.map { $0.output ?? ToolOutput.aborted(of: $0.call) }
        self.openCalls.removeAll()
        self.positions.removeAll()
    }

    /// The items that the turn adds to the conversation, however it has ended.
    ///
    /// Empty until a response is complete, so that the same message can be sent again.
    var remains: [[UInt8]] {
        guard self.hasCompletedResponse else { return [] }
        var journal = self
        journal.close()
        return journal.items
    }
}
