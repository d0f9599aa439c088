// A fault in the form of a scenario, or of a proxy's plan, and the error that reports them. Pure.

/// A part of a JSON text that is not what a scenario or a plan has there.
package struct FormFault: Sendable {
    /// The problem of a member.
    package enum Problem: Hashable, Sendable {
        /// The text is not JSON.
        case notJSON
        /// The member, or the word, is unknown.
        case unknown
        /// The member is missing.
        case missing
        /// It has another type than the expected one.
        case wrongType(expected: String)
        /// It is out of range.
        case outOfRange(expected: String)
        /// It has no meaning beside the other members.
        case notApplicable

        /// The words that follow the member in a description.
        fileprivate var words: String {
            switch self {
            case .notJSON: "is not JSON"
            case .unknown: "is unknown"
            case .missing: "is missing"
            case .wrongType(let expected): "is not \(expected)"
            case .outOfRange(let expected): "must be \(expected)"
            case .notApplicable: "does not apply to this action"
            }
        }
    }

    /// The member, such as `faults[2].action.cut.atByte`; empty for the text as a whole.
    let member: String
    /// The problem of the member.
    let problem: Problem
    /// The words that follow the member in the description.
    private let words: String

    /// Creates a fault with words of its own, or with those of its problem.
    init(_ member: String, _ problem: Problem, _ words: String? = nil) {
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

/// A text that is no scenario or plan, or a plan that cannot be carried out: all of its faults.
package struct FormError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first member that is wrong, such as `faults[2].action.cut.atByte`; empty for the text as a whole.
    package let member: String
    /// The problem of that member.
    package let problem: FormFault.Problem
    /// All faults in their order, each in a sentence that begins with its member, such as
    /// `server.faults[0].atempt is unknown; did you mean …?`.
    package let faults: [String]

    /// Creates an error of one member.
    package init(member: String, problem: FormFault.Problem) { self.init(FormFault(member, problem), others: []) }

    /// Creates an error of faults; nil when there are none.
    init?(_ faults: [FormFault]) {
        guard let first = faults.first else { return nil }
        self.init(first, others: faults.dropFirst())
    }

    private init(_ first: FormFault, others: ArraySlice<FormFault>) {
        self.member = first.member
        self.problem = first.problem
        self.faults = [first.description] + others.map(\.description)
    }

    /// The faults in one line; of many the first 20, and the number of the others.
    package var description: String {
        let limit = 20
        let rest = self.faults.count - limit
        let sentences = self.faults.prefix(limit) + (rest > 0 ? ["There are \(rest) more"] : [])
        return sentences.reduce("") { text, sentence in
            text + (text.isEmpty ? "" : text.hasSuffix("?") ? " " : ". ") + sentence
        }
    }
}
