// A tool call of a simulated response. An immutable value.

/// A tool call: what it is, and how it is written this time.
package struct SimulatedCall: Sendable {
    /// The item's position in the response's output.
    package var position: Int
    /// The tool's name.
    package var name: String
    /// The tool's namespace, where it has one.
    package var namespace: String?
    /// Indicates whether the input is free text rather than JSON.
    package var isCustom: Bool
    /// The input as text, or the arguments in the one form that all spellings of them share.
    package var canonicalInput: String
    /// The input as it stands on the wire.
    package var wireInput: String

    /// A call of a function, whose arguments are spelled as they are.
    package init(position: Int, name: String, arguments: String) {
        self.position = position
        self.name = name
        self.namespace = nil
        self.isCustom = false
        self.canonicalInput = arguments
        self.wireInput = arguments
    }

    /// True when a tool could not tell the two apart.
    package func isSame(as other: Self) -> Bool {
        self.position == other.position && self.isCustom == other.isCustom
            && self.name.utf8.elementsEqual(other.name.utf8)
            && (self.namespace ?? "").utf8.elementsEqual((other.namespace ?? "").utf8)
            && self.canonicalInput.utf8.elementsEqual(other.canonicalInput.utf8)
    }

    private static let names = ["read_file", "shell", "weather", "naïve_tool", "apply_patch"]
    private static let namespaces = [nil, nil, nil, "functions", "mcp__files"]

    /// A call of any kind.
    init(_ random: inout SimulatedRandom, position: Int) {
        self.init(position: position, name: random.pick(Self.names), arguments: "{}")
        self.namespace = random.pick(Self.namespaces)
        self.isCustom = random.chance(30)
        if self.isCustom {
            let count = random.below(6)
            self.canonicalInput = String(decoding: SimulatedText.bytes(&random, pieces: count), as: UTF8.self)
            self.wireInput = self.canonicalInput
        } else {
            self.setArguments((0..<random.below(4)).map { _ in random.below(1_000) })
        }
    }

    /// The same call with the members of its arguments in another order.
    func respelled() -> Self {
        var other = self
        guard !self.isCustom, self.wireInput.utf8.count > 2 else { return other }
        let members = self.wireInput.dropFirst().dropLast().split(separator: ",")
        other.wireInput = "{" + members.reversed().joined(separator: " ,\n") + "}"
        return other
    }

    /// A call of the same tool with other input.
    func withOtherInput(_ random: inout SimulatedRandom) -> Self {
        var other = self
        if self.isCustom {
            other.canonicalInput += "!"
            other.wireInput = other.canonicalInput
        } else {
            other.setArguments((0..<4).map { _ in 1_000 + random.below(1_000) })
        }
        return other
    }

    private mutating func setArguments(_ values: [Int]) {
        let members = values.enumerated().map { "\"k\($0.offset)\":\($0.element)" }
        self.canonicalInput = "{" + members.joined(separator: ",") + "}"
        self.wireInput = self.canonicalInput
    }
}
