import StreamTransport

/// The connections that a turn's driver waits for.
struct ConnectionWait {
    let connection: any TransportConnection
    /// The connection of the other attempt of a race; nil when there is none.
    let other: (any TransportConnection)?
    /// The maximum duration in nanoseconds; nil without one.
    let nanoseconds: Int64?

    /// Waits until a connection has something to read; returns the reason for the end of the wait.
    ///
    /// Each wait is the end of a branch, because what followed both would need a change of executors.
    nonisolated(nonsending) func outcome(on transport: any StreamTransport) async -> TransportWaitOutcome {
        guard let other = self.other else { return await self.connection.wait(forNanoseconds: self.nanoseconds) }
        return await transport.wait(
            for: [self.connection, other], atMost: self.nanoseconds.map { .nanoseconds($0) })
    }
}
