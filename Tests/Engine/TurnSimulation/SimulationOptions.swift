/// The options of all series of a run.
package struct SimulationOptions: Sendable {
    /// Indicates whether what happens is written down.
    package var isTracing = false
    /// Indicates whether what the engine has read and delivered is kept.
    package var isRecording = false
    /// Faults that servers do not have, by name.
    ///
    /// With it a run can continue past one that is known to break a promise.
    package var withoutFaults: Set<String> = []

    /// The defaults.
    package init() {}

    func allows(_ fact: SimulatedFact) -> Bool { self.withoutFaults.isEmpty || !self.withoutFaults.contains("\(fact)") }

    /// Returns whether a fault has such a name.
    package static func isFault(_ name: String) -> Bool { SimulatedFact.allCases.contains { "\($0)" == name } }
}
