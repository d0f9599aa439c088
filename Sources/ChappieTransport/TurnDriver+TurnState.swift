/// What the server wants to have echoed in every later request of the turn, so that they reach the same machine.
extension TurnDriver {
    /// A server that hands out more than this means something else, in bytes.
    private static let turnStateByteCountLimit = 8 << 10

    /// The first value that the turn is given counts, and one that it began with goes before all.
    func learned(turnState: String?) {
        guard self.turnState == nil, let turnState, !turnState.isEmpty,
            turnState.utf8.count <= Self.turnStateByteCountLimit
        else { return }
        self.turnState = turnState
    }
}
