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

    /// The delay before the next request that the server asked for; nil where it named none.
    package private(set) var retryAfter: Duration?

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

    /// Returns the facts with the delay that the server asked for, which replaces a general one.
    package func waiting(for delay: Duration?) -> Self {
        guard let delay else { return self }
        var facts = self
        facts.retryAfter = delay
        if case .retryWithBackoff = self.retryGuidance {
            facts.retryGuidance = .retryWithBackoff(afterSeconds: delay / .seconds(1))
        }
        return facts
    }
}
