// The scenarios that come with the server: the files in `Scenarios`, embedded by the package manager.
//
// Constants without an owner.

extension ChappieTestServer {
    /// The bytes of every file, in the order in which they are listed.
    ///
    /// The package manager embeds each file under its name, without a list; a test compares this one with the folder.
    static let scenarioFiles: [[UInt8]] = [
        PackageResources.orderly_json,
        PackageResources.cuts_json,
        PackageResources.replays_json,
        PackageResources.resumption_json,
        PackageResources.closes_json,
        PackageResources.handshakes_json,
        PackageResources.http_answers_json,
        PackageResources.error_events_json,
        PackageResources.failed_responses_json,
        PackageResources.silence_json,
        PackageResources.encodings_json,
        PackageResources.limits_json,
        PackageResources.closing_events_json,
        PackageResources.odd_events_json,
        PackageResources.mixed_responses_json,
    ]

    /// The built-in scenarios by subject.
    package static let builtInScenarioFamilies: [ScenarioFamily] = scenarioFiles.map { bytes in
        do throws(ScenarioFamily.ReadError) {
            return try ScenarioFamily(bytes)
        } catch {
            preconditionFailure("a file of built-in scenarios cannot be read: \(error)")
        }
    }

    /// The built-in scenarios, by the names that the command line takes.
    public static let builtInScenarios: [Scenario] = builtInScenarioFamilies.flatMap(\.scenarios)

    /// Returns the built-in scenario of that name; nil when there is none.
    public static func builtInScenario(named name: String) -> Scenario? {
        Self.builtInScenarios.first { $0.name == name }
    }
}
