// A named set of faults, as tests, the command line and files share it.
//
// Immutable values.
import FoundationEssentials

extension ChappieTestServer {
    /// Faults with a name, and what a good client makes of them.
    public struct Scenario: Codable, Hashable, Sendable {
        /// A short name.
        public var name: String
        /// What happens, in a sentence.
        public var summary: String
        /// What a good client does.
        public var expectation: Expectation?
        /// What goes wrong.
        public var faults: [Fault]
        /// The scripted model to use; nil is the default one.
        public var model: ScriptedModel?
        /// Events a second; nil is as fast as possible.
        public var eventsPerSecond: Double?

        /// How a turn ends for a good client.
        public enum Expectation: String, Codable, Hashable, Sendable {
            /// It completes, on the WebSocket.
            case completes
            /// It completes after a retry.
            case completesAfterRetry
            /// It completes over HTTP.
            case completesAfterFallback
            /// It fails and is not retried.
            case fails
            /// It fails because a replay contradicts what was delivered.
            case diverges
            /// It waits until a time budget or a ping notices, then retries.
            case timesOut
        }

        /// Makes a scenario.
        public init(
            name: String, summary: String, expectation: Expectation? = nil, faults: [Fault],
            model: ScriptedModel? = nil, eventsPerSecond: Double? = nil
        ) {
            self.name = name
            self.summary = summary
            self.expectation = expectation
            self.faults = faults
            self.model = model
            self.eventsPerSecond = eventsPerSecond
        }

        /// Reads a scenario from its JSON text; throws `DecodingError`.
        public init(jsonText: String) throws {
            self = try JSONDecoder().decode(Self.self, from: Data(jsonText.utf8))
        }

        /// The scenario as JSON text.
        public var jsonText: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            // Encoding fails only for a rate that is not a number.
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        }
    }
}
