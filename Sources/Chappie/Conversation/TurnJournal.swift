import ResponseEvents

/// The items of a turn so far.
///
/// A pure value. Its owner is the turn, under its lock.
struct TurnJournal: Sendable, Equatable {
    /// A call that waits for its output.
    private struct OpenCall: Equatable {
        let call: CompletedResponse.Call
        var output: [UInt8]?
    }

    /// The turn's own input, then the items and outputs of its complete responses.
    private(set) var items: [[UInt8]]
    private var openCalls: [OpenCall] = []
    private var hasCompletedResponse = false

    /// Creates the journal of a turn with its input.
    init(input: [[UInt8]]) { self.items = input }

    /// Records a complete response.
    mutating func completed(_ items: [[UInt8]], calls: [CompletedResponse.Call]) {
        self.items += items
        self.hasCompletedResponse = true
        // A call that occurs twice has one output.
        for call in calls where !self.openCalls.contains(where: { $0.call.callID == call.callID }) {
            self.openCalls.append(OpenCall(call: call))
        }
    }

    /// Records the output of a call of the newest response.
    mutating func answered(_ callID: String, with output: [UInt8]) {
        guard let index = self.openCalls.firstIndex(where: { $0.call.callID == callID }) else { return }
        self.openCalls[index].output = output
    }

    /// Appends the outputs after the response, in the order of the calls.
    ///
    /// A call without an output gets the text `aborted`: each call must have exactly one output, or servers refuse the
    /// next request.
    mutating func close() {
        self.items += self.openCalls.map { $0.output ?? ToolOutput.aborted(of: $0.call) }
        self.openCalls.removeAll()
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
