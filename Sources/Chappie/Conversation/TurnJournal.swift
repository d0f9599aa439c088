import ResponseEvents

/// What a turn has come to so far, as items of the conversation.
///
/// A pure value. Its owner is the turn, under its lock.
struct TurnJournal: Sendable, Equatable {
    /// A call that waits for its output.
    private struct OpenCall: Equatable {
        let call: CompletedResponse.Call
        var output: [UInt8]?
    }

    /// What the turn said itself, then the items and outputs of its complete responses.
    private(set) var items: [[UInt8]]
    private var openCalls: [OpenCall] = []
    private var hasCompletedResponse = false

    /// A turn that says something.
    init(input: [[UInt8]]) { self.items = input }

    /// A response is complete.
    mutating func completed(_ items: [[UInt8]], calls: [CompletedResponse.Call]) {
        self.items += items
        self.hasCompletedResponse = true
        // A call that stands twice has one output.
        for call in calls where !self.openCalls.contains(where: { $0.call.callID == call.callID }) {
            self.openCalls.append(OpenCall(call: call))
        }
    }

    /// A call of the newest response has its output.
    mutating func answered(_ callID: String, with output: [UInt8]) {
        guard let index = self.openCalls.firstIndex(where: { $0.call.callID == callID }) else { return }
        self.openCalls[index].output = output
    }

    /// Puts the outputs behind the response, in the order of the calls.
    ///
    /// A call that has none gets the text that says so: each call has exactly one output, or servers refuse the next
    /// request.
    mutating func close() {
        self.items += self.openCalls.map { $0.output ?? ToolOutput.aborted(of: $0.call) }
        self.openCalls.removeAll()
    }

    /// What the turn leaves to the conversation, however it has ended.
    ///
    /// Nothing as long as no response was complete, so that the same message can be sent again.
    var remains: [[UInt8]] {
        guard self.hasCompletedResponse else { return [] }
        var journal = self
        journal.close()
        return journal.items
    }
}
