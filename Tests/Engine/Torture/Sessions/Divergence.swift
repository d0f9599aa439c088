// Other responses to the same request.
//
// Pure: lines and a number in, lines out.

/// The ways in which a second answer differs from the first.
enum Divergence: Int, CaseIterable {
    /// One scalar is another one; everything behind it is the same.
    case otherScalar
    /// Another text from some place on.
    case otherEnding
    /// The end at some place.
    case shorter
    /// More behind the end.
    case longer
    /// A call of the same tool with other arguments.
    case otherArguments
    /// A call of another tool.
    case otherTool
    /// An item is missing, and those behind it move up.
    case missingItem

    /// The number of other responses of each session.
    static let variantCount = 14

    /// The events of another response; the number chooses the way, the seed the place.
    static func lines(of session: Session, variant: Int, seed: UInt64) -> [String] {
        let random = RandomNumbers(seed: seed, name: "\(session.name) divergence \(variant)")
        var rewriting = ResponseRewriting(session.lines, random: random)
        let applicable = self.allCases.filter { $0.applies(to: rewriting) }
        guard !applicable.isEmpty else { return session.lines }
        applicable[variant % applicable.count].apply(to: &rewriting)
        rewriting.rename("-d\(variant)")
        return rewriting.lines()
    }

    /// The types of deltas that are output.
    static let outputTypes: Set = [
        "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
    ]

    private func applies(to rewriting: ResponseRewriting) -> Bool {
        switch self {
        case .otherScalar, .otherEnding, .shorter, .longer: !rewriting.places(Self.outputTypes).isEmpty
        case .otherArguments, .otherTool: !Self.calls(rewriting).isEmpty
        case .missingItem: rewriting.items { _ in true }.count > 1
        }
    }

    private static func calls(_ rewriting: ResponseRewriting) -> [Int] {
        rewriting.items { ["function_call", "custom_tool_call"].contains($0["type"] as? String) }
    }

    private func apply(to rewriting: inout ResponseRewriting) {
        switch self {
        case .otherScalar, .otherEnding, .shorter, .longer:
            guard let place = rewriting.places(Self.outputTypes).randomElement(using: &rewriting.random) else { return }
            var scalars = Array(rewriting.text(at: place).unicodeScalars)
            self.change(&scalars, using: &rewriting.random)
            rewriting.replace(place, with: String(String.UnicodeScalarView(scalars)))
        case .otherArguments:
            guard let item = Self.calls(rewriting).randomElement(using: &rewriting.random) else { return }
            self.changeArguments(of: item, in: &rewriting)
        case .otherTool:
            guard let item = Self.calls(rewriting).randomElement(using: &rewriting.random) else { return }
            rewriting.changeItem(item) { name, text in name == "name" ? "other_" + text : text }
        case .missingItem:
            rewriting.remove(item: 0)
        }
    }

    private func change(_ scalars: inout [Unicode.Scalar], using random: inout RandomNumbers) {
        guard !scalars.isEmpty else { return }
        let index = Int.random(in: 0..<scalars.count, using: &random)
        let ending = Array(" — or so they say, 😀.".unicodeScalars)
        switch self {
        case .otherScalar: scalars[index] = scalars[index] == "§" ? "¤" : "§"
        case .otherEnding: scalars = scalars[..<index] + ending
        case .shorter: scalars.removeSubrange(index...)
        case .longer: scalars += ending
        case .otherArguments, .otherTool, .missingItem: break
        }
    }

    private func changeArguments(of item: Int, in rewriting: inout ResponseRewriting) {
        let types: Set = ["response.function_call_arguments.delta", "response.custom_tool_call_input.delta"]
        guard let place = rewriting.places(types).first(where: { $0.outputIndex == item }) else { return }
        let old = rewriting.text(at: place)
        if var arguments = JSONText.object(old) {
            arguments["again"] = true
            rewriting.replace(place, with: JSONText.text(arguments))
        } else {
            rewriting.replace(place, with: old + " -- again")
        }
    }
}
