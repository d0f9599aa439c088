// Scenarios about one subject: a file of the folder `Scenarios`.
//
// Immutable values.

extension ChappieTestServer {
    /// Scenarios about one subject, from one file.
    ///
    /// `Scenarios/README.md` describes the JSON form.
    package struct ScenarioFamily: Sendable {
        /// A reason why a file cannot be read.
        enum ReadError: Error {
            /// The file is not JSON, or lacks the title, the description or the scenarios.
            case notAFamily
            /// The scenario at this index, counted from 0, lacks a member or has a wrong one.
            case wrongScenario(index: Int, any Error)
        }

        /// A few words for the subject.
        package let title: String
        /// A description of the subject in a sentence.
        package let description: String
        /// The scenarios, in the order in which they are listed.
        package let scenarios: [Scenario]

        /// Reads a file.
        init(_ bytes: [UInt8]) throws(ReadError) {
            guard let file = JSONValue(bytes), let title = file["title"]?.string,
                let description = file["description"]?.string, let rows = Self.rows(of: file)
            else { throw .notAFamily }
            self.title = title
            self.description = description
            var scenarios: [Scenario] = []
            for (index, row) in rows.enumerated() {
                do {
                    scenarios.append(try Scenario(jsonText: row.text))
                } catch {
                    throw .wrongScenario(index: index, error)
                }
            }
            self.scenarios = scenarios
        }

        /// Returns the scenarios of a file with its defaults filled in; nil when it has no scenarios.
        static func rows(of file: JSONValue) -> [JSONValue]? {
            guard case .array(let rows)? = file["scenarios"] else { return nil }
            let defaults = file["defaults"] ?? .object([])
            return rows.map { defaults.merging($0) }
        }
    }
}
