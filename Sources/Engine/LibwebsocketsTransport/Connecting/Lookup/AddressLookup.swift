package import StreamTransport

/// The look-up of a host's addresses by itself, for an examination of the path.
package enum AddressLookup {
    /// Returns the addresses that a connection would try, in the system's order of preference, or the failure; nil when
    /// the time is over, or the task was cancelled.
    ///
    /// It uses the process's resolver with its cache. A look-up that is not waited for any more goes on until the
    /// system has answered.
    package static func addresses(
        of host: String, within duration: Duration
    ) async -> Result<[String], TransportFailure>? {
        if Self.isNumeric(host) { return .success([host]) }
        let (answers, continuation) = AsyncStream.makeStream(of: Resolver.Answer.self)
        let outcome = Resolver.shared.resolve(host) { answer in
            continuation.yield(answer)
            continuation.finish()
        }
        switch outcome {
        case .answered(let answer): return Self.result(answer)
        case .pending(let ticket):
            let timer = Task {
                try await Task.sleep(for: duration)
                continuation.finish()
            }
            defer { timer.cancel() }
            for await answer in answers { return Self.result(answer) }
            Resolver.shared.cancel(ticket)
            return nil
        }
    }

    /// Returns whether a host is an address already.
    package static func isNumeric(_ host: String) -> Bool { Resolver.isNumeric(host) }

    private static func result(_ answer: Resolver.Answer) -> Result<[String], TransportFailure> {
        answer.mapError { TransportFailure(phase: .resolve, cause: $0.cause) }
    }
}
