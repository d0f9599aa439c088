/// The pending actions of a turn, first in, first out.
///
/// A value; its owner is the turn.
struct ActionQueue: Sendable {
    private var actions: [ToolLoopStateMachine.Action] = []
    private var head = 0

    /// Indicates whether no action is pending.
    var isEmpty: Bool { self.head == self.actions.count }

    /// The next action.
    var first: ToolLoopStateMachine.Action? { self.isEmpty ? nil : self.actions[self.head] }

    /// Appends an action.
    mutating func append(_ action: ToolLoopStateMachine.Action) { self.actions.append(action) }

    /// Appends several actions.
    mutating func append(contentsOf actions: [ToolLoopStateMachine.Action]) { self.actions += actions }

    /// Removes the next action.
    mutating func removeFirst() {
        self.head += 1
        guard self.isEmpty else { return }
        self.removeAll()
    }

    /// Removes all actions.
    mutating func removeAll() {
        self.actions.removeAll(keepingCapacity: true)
        self.head = 0
    }
}
