import ChappieTransport
import PathDiagnosis
import StreamTransport
import TransportSurface

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
        /// The credential cannot be sent.
        case unusable
    }

    private struct Note {
        var failure: Failure?
        var form: CredentialFacts.Form?
    }

    private let noted = LockedValue(Note())

    /// The failure of the source; nil when it has not been asked, or has answered with what can be sent.
    var failure: Failure? { self.noted.withLock { $0.failure } }

    /// The form of the newest credential; nil for an ordinary one, and for none.
    var form: CredentialFacts.Form? { self.noted.withLock { $0.form } }

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
            switch result {
            case .failure(let error):
                if !Task.isCancelled { self.noted.withLock { $0.failure = error as? Failure ?? .thrown } }
            case .success(let credential): self.note(credential)
            }
            return try result.get()
        }
    }

    private func note(_ credential: ChappieCredential?) {
        let form = credential.flatMap { CredentialFacts.Form(token: $0.bearerToken) }
        self.noted.withLock { noted in
            noted.form = form
            if credential?.fault != nil { noted.failure = .unusable }
        }
    }
}
