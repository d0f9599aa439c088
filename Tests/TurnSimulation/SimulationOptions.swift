/// What all series of a run share.
package struct SimulationOptions: Sendable {
    /// Whether what happens is written down.
    package var isTracing = false
    /// Whether the members of a call's arguments change places between attempts, which is no other call.
    package var respellsArguments = true

    /// The defaults.
    package init() {}
}
