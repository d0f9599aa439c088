/// What a turn has to do, first in, first out.
///
/// A value; its owner is the turn.
struct ActionQueue: Sendable {
    private var actions: [ToolLoopStateMachine.Action] = []
    private var head = 0

    /// Indicates whether nothing is to be done.
    var isEmpty: Bool { self.head == self.actions.count }

    /// What is to be done next.
    var first: ToolLoopStateMachine.Action? { self.isEmpty ? nil : self.actions[self.head] }

    /// Puts something at the end.
    mutating func append(_ action: ToolLoopStateMachine.Action) { self.actions.append(action) }

    /// Puts several things at the end.
    mutating func append(contentsOf actions: [ToolLoopStateMachine.Action]) { self.actions += actions }

    /// Takes what is to be done next out.
    mutating func removeFirst() {
        self.head += 1
        guard self.isEmpty else { return }
        self.removeAll()
    }

    /// Forgets everything.
    mutating func removeAll() {
        self.actions.removeAll(keepingCapacity: true)
        self.head = 0
    }
}
