// The facts about errors that all commands state.
//
// Values without an owner.
import Chappie
import ChappieSignIn
import ChappieTestServer
import EventSource
import WebSocketClient

/// An error of one of the libraries.
protocol LibraryError: Error {
    /// A stable name of the failure.
    var tag: String { get }
    /// The category of the failure.
    var category: ChappieErrorCategory { get }
    /// Indicates whether the same may succeed later.
    var isRetryable: Bool { get }
    /// The problem and the advice, safe to show.
    var safeDescription: String { get }
}

extension ChappieClientError: LibraryError {}
extension ChappieAuthError: LibraryError {}
extension ChappieCredentialStorageError: LibraryError {}
extension EventSourceError: LibraryError {}
extension WebSocketError: LibraryError {}

/// The facts about an error.
struct FailureFacts {
    /// A stable name of the failure.
    let tag: String
    /// The category of the failure; nil for an interruption.
    let category: ChappieErrorCategory?
    /// Indicates whether the same may succeed later.
    let isRetryable: Bool
    /// The problem and the advice, safe to show.
    let safeDescription: String

    /// Collects the facts of an error, with the words for an interruption.
    init(_ error: any Error, interruption: String = "Interrupted.") {
        let error = ResourceShortage(error) ?? error
        (self.tag, self.category, self.isRetryable, self.safeDescription) =
            switch error {
            case let error as any LibraryError:
                (error.tag, error.category, error.isRetryable, error.safeDescription)
            case is ReconnectionsUsedUpError:
                (
                    "event-source.gave-up", .server, true,
                    "The server ended its streams without an event, and no more reconnections are allowed."
                )
            case is CancellationError, DescriptorError.interrupted: ("cancelled", nil, true, interruption)
            case DescriptorError.late:
                (
                    "timeout.output", nil, true,
                    "Time ran out before everything could be written: the output is not read."
                )
            case let error as UsageError: ("usage", .validation, false, error.message)
            case let error as SignedOutError: (ChappieClientError.missingCredential.tag, .auth, false, error.message)
            case let error as NoServerError: (ChappieClientError.missingCredential.tag, .auth, false, error.message)
            case let error as ResourceShortage: (error.tag, .internal, true, error.message)
            case let error as DescriptorError:
                ("input-output", .internal, false, "input or output failed: \(error.message)")
            default:
                ("internal", .internal, false, "The program failed in a way that it should not. Report this.")
            }
    }
}
