extension TurnStateMachine {
    /// A response that is being read.
    struct Exchange: Equatable {
        /// The number of its attempt.
        let attempt: Int
        /// The transport that carries it.
        let transport: ChappieTransportKind
        /// Indicates whether the connection had carried an earlier turn.
        var isLent = false
        /// Indicates whether the request continues a response that the server remembers for the connection alone.
        var isContinued = false
        /// Indicates whether an event of any kind has come.
        var hasEvents = false
        /// Indicates whether an event with content has come.
        var hasContent = false
        /// Indicates whether the response is complete, and the turn waits only for what becomes of its steering.
        var isComplete = false
    }
}
