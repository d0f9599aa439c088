// The scenarios that come with the server: the files in `Scenarios`, embedded by the package manager.
//
// Constants without an owner.

extension ChappieTestServer {
    /// The built-in scenarios, by the names that the command line takes.
    public static let builtInScenarios: [Scenario] = BuiltInScenarioFiles.all.map { bytes in
        do {
            return try Scenario(jsonText: String(decoding: bytes, as: UTF8.self))
        } catch {
            preconditionFailure("a built-in scenario cannot be read: \(error)")
        }
    }

    /// Returns the built-in scenario of that name; nil when there is none.
    public static func builtInScenario(named name: String) -> Scenario? {
        Self.builtInScenarios.first { $0.name == name }
    }
}
