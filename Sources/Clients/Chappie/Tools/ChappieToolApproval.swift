/// An answer to a tool call that waits for one.
public enum ChappieToolApproval: Sendable, Equatable {
    /// The tool may run.
    case allowed
    /// The tool may not run; the model reads the reason.
    case refused(String)

    /// Returns the answer that the tool may run.
    public static func approved() -> Self { .allowed }

    /// Returns the answer that the tool may not run; the model reads the reason.
    public static func denied(_ reason: String = "The call was not approved.") -> Self { .refused(reason) }
}

/// Answers tool calls whose policy is `ask`.
///
/// It may take as long as a person needs; the turn's time limit and its cancellation end the wait. An error that it
/// throws ends the turn with `ChappieClientError.toolApprovalDenied`.
public typealias ChappieToolApprovalHandler = @Sendable (ChappieApprovalRequest) async throws -> ChappieToolApproval
