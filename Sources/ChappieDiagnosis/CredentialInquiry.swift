import ChappieTransport
import StreamTransport

/// The program's source of the credential, asked for a limited time, with a note of its failure.
///
/// It is shared by the task of an examination and that of the source, behind a lock.
final class CredentialInquiry: Sendable {
    /// The reason for which there is no credential.
    enum Failure: Error {
        /// The source threw an error, such as one about an account that has to sign in again.
        case thrown
        /// The source did not answer in time.
        case late
    }

    private let noted = LockedValue<Failure?>(nil)

    /// The failure of the source; nil when it has not been asked, or has answered.
    var failure: Failure? { self.noted.withLock { $0 } }

    /// Returns a source that asks another one for this time at most.
    func limiting(
        _ source: @escaping ChappieTransportConfiguration.CredentialSource, to limit: Duration
    ) -> ChappieTransportConfiguration.CredentialSource {
        { request in
            let program = ProgramTask { try await source(request) }
            let alarm = Task {
                try await Task.sleep(for: limit)
                program.giveUp(Failure.late)
            }
            defer { alarm.cancel() }
            let result = await program.result()
            if case .failure(let error) = result, !Task.isCancelled {
                self.noted.withLock { $0 = error as? Failure ?? .thrown }
            }
            return try result.get()
        }
    }
}
