/// The facts about one kind of error, for the caller.
///
/// Immutable values without an owner.
package struct ErrorFacts: Sendable, Equatable {
    /// The kind of problem.
    package var category: ChappieErrorCategory
    /// The advice before the same request is sent again.
    package var retryGuidance: ChappieRetryGuidance
    /// Indicates whether a person has to act before the same request can succeed.
    package var requiresUserAction: Bool
    /// Indicates whether it points to a defect of the program or of the server.
    package var shouldReport: Bool

    /// Creates facts.
    package init(
        _ category: ChappieErrorCategory,
        _ retryGuidance: ChappieRetryGuidance = .none,
        requiresUserAction: Bool = false,
        shouldReport: Bool = false
    ) {
        self.category = category
        self.retryGuidance = retryGuidance
        self.requiresUserAction = requiresUserAction
        self.shouldReport = shouldReport
    }
}
