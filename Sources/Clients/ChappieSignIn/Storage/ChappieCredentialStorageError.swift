// The errors of a storage: they contain paths and numbers, but no content of the files.
import PlatformC
public import PlatformFoundation
import StreamSession

/// The reason for which credentials cannot be read or stored.
///
/// A minor version may add cases.
public enum ChappieCredentialStorageError: Error, Sendable, Equatable {
    /// Other users may read or write the file or directory; its path, and its permissions in octal.
    case insecurePermissions(path: String, mode: String)
    /// It belongs to another user.
    case foreignOwner(path: String)
    /// It is a symbolic link, or not a file, or has several names.
    case notAFile(path: String)
    /// The file is damaged.
    case unreadable(path: String)
    /// It was written by another version of this package, in a form that is unknown here.
    case unknownVersion(path: String, version: Int)
    /// It is for another account than its name indicates.
    case otherAccount(path: String)
    /// The account's name is invalid.
    case invalidAccountName
    /// A system call failed; its operation, and its `errno`.
    case systemCallFailed(operation: String, path: String, code: Int32)
    /// Another process holds the credential's lock for too long.
    case locked(path: String)
}

extension ChappieCredentialStorageError {
    /// A stable name of the failure, such as `credentials.locked`.
    public var tag: String {
        switch self {
        case .insecurePermissions: "credentials.insecure-permissions"
        case .foreignOwner: "credentials.foreign-owner"
        case .notAFile: "credentials.not-a-file"
        case .unreadable: "credentials.unreadable"
        case .unknownVersion: "credentials.unknown-version"
        case .otherAccount: "credentials.other-account"
        case .invalidAccountName: "credentials.invalid-account-name"
        case .systemCallFailed: "credentials.system"
        case .locked: "credentials.locked"
        }
    }

    /// The category of the failure.
    public var category: ChappieErrorCategory { self.facts.category }

    /// Indicates whether the same call may succeed later without any change.
    public var isRetryable: Bool { self.facts.retryGuidance != .none }

    private var facts: ErrorFacts {
        switch self {
        case .insecurePermissions, .foreignOwner, .notAFile, .systemCallFailed(_, _, EACCES),
            .systemCallFailed(_, _, EPERM):
            ErrorFacts(.permission)
        case .unreadable, .unknownVersion, .otherAccount, .invalidAccountName: ErrorFacts(.validation)
        case .systemCallFailed: ErrorFacts(.internal)
        case .locked: ErrorFacts(.internal, .afterNetworkFailure)
        }
    }
}

extension ChappieCredentialStorageError: LocalizedError {
    /// The problem and the advice, in sentences that are safe to show and to log.
    public var errorDescription: String? { self.safeDescription }

    /// The same as `errorDescription`.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// The problem, without the advice.
    public var failureReason: String? { self.problem }

    /// The advice.
    public var recoverySuggestion: String? { self.advice }

    private var problem: String {
        switch self {
        case .insecurePermissions(let path, let mode):
            "Others than its owner have access to \(path), whose permissions are \(mode)."
        case .foreignOwner(let path): "Another user owns \(path)."
        case .notAFile(let path): "\(path) is a link, or is not what it should be."
        case .unreadable(let path): "The credential in \(path) is damaged."
        case .unknownVersion(let path, let version): "The credential in \(path) has the unknown version \(version)."
        case .otherAccount(let path): "The credential in \(path) belongs to another account."
        case .invalidAccountName: "An account cannot be called like that."
        case .systemCallFailed(let operation, let path, let code):
            "\(operation) failed for \(path): \(Self.words(code))."
        case .locked(let path): "Another process holds \(path)."
        }
    }

    private var advice: String {
        switch self {
        case .insecurePermissions(let path, _): "Take the access away with chmod go= \(path), and sign in again."
        case .foreignOwner: "Choose a directory of your own."
        case .notAFile: "Remove it, and sign in again."
        case .unreadable, .otherAccount: "Sign in again."
        case .unknownVersion: "Use the program that has written it, or sign in again."
        case .invalidAccountName:
            "A name has 1 to 64 letters, digits and characters of _ . - and does not begin with a full stop."
        case .systemCallFailed(_, _, ENOSPC), .systemCallFailed(_, _, EDQUOT): "Make room, and try again."
        case .systemCallFailed: "Check the directory of the credentials, and try again."
        case .locked: "Try again in a moment."
        }
    }

    private static func words(_ code: CInt) -> String {
        unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }
}

extension ChappieCredentialStorageError: CustomStringConvertible, CustomDebugStringConvertible {
    /// The stable tag and the safe description.
    public var description: String { "\(self.tag): \(self.safeDescription)" }

    /// The same as `description`.
    public var debugDescription: String { "ChappieCredentialStorageError(\(self.description))" }
}
