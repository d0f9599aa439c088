// A fault in the form of a scenario, or of a proxy's plan. Pure.

/// A part of a JSON text that is not what a scenario or a plan has there.
struct FormFault: Sendable {
    /// The member, such as `faults[2].action.cut.atByte`; empty for the text as a whole.
    let member: String
    /// The problem of the member.
    let problem: FaultProxy.PlanError.Problem
    /// The words that follow the member in the description.
    private let words: String

    /// Creates a fault with words of its own, or with those of its problem.
    init(_ member: String, _ problem: FaultProxy.PlanError.Problem, _ words: String? = nil) {
        self.member = member
        self.problem = problem
        self.words = words ?? problem.words
    }

    /// The fault in a sentence without its full stop, which begins with the member.
    var description: String { (self.member.isEmpty ? "the text" : self.member) + " \(self.words)" }

    /// The same fault in a larger text, in which its own is at a place.
    func within(_ place: String) -> Self {
        if place.isEmpty { return self }
        return Self(self.member.isEmpty ? place : "\(place).\(self.member)", self.problem, self.words)
    }
}
