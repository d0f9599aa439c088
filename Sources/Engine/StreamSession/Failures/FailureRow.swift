/// The meaning of a failure below HTTP: the engine's reaction and the caller's facts and words, so that they agree.
///
/// Immutable values without an owner. `AttemptFailure.failureClass` refines the class by the failure's details.
package struct FailureRow: Sendable {
    /// A description of the problem, and advice about it.
    package struct Sentences: Sendable {
        /// The problem, without the full stop.
        package let problem: FailureText
        /// The advice, a sentence.
        package let advice: FailureText
    }

    /// The engine's reaction.
    package let failureClass: FailureClass
    /// The facts for the caller.
    package let facts: ErrorFacts
    /// The sentences for the program's user.
    package let sentences: Sentences
    /// The sentences where the proxy failed; nil where they are the same.
    package let sentencesAboutProxy: Sentences?
    /// The advice where the scheme of the address may not be that of the port; nil where it is the same.
    package let adviceOnScheme: FailureText?

    init(
        _ failureClass: FailureClass, _ category: ChappieErrorCategory, _ retry: ChappieRetryGuidance = .none,
        user requiresUserAction: Bool = false, report shouldReport: Bool = false,
        _ problem: FailureText, _ advice: FailureText = "Try again in a moment.",
        proxy: (FailureText, FailureText)? = nil, scheme adviceOnScheme: FailureText? = nil
    ) {
        self.failureClass = failureClass
        self.facts = ErrorFacts(category, retry, requiresUserAction: requiresUserAction, shouldReport: shouldReport)
        self.sentences = Sentences(problem: problem, advice: advice)
        self.sentencesAboutProxy = proxy.map { Sentences(problem: $0.0, advice: $0.1) }
        self.adviceOnScheme = adviceOnScheme
    }
}
