// Why credentials cannot be read or kept, in words. Pure.
import Chappie

extension ChappieCredentialStorageError {
    /// What is wrong, and what to do.
    var words: String {
        switch self {
        case .insecurePermissions(let path, let mode):
            "others may read or write \(path) (its permissions are \(mode)): chmod it, and sign in again if anybody did"
        case .foreignOwner(let path): "\(path) belongs to another user"
        case .notAFile(let path): "\(path) is a link, has several names, or is not a file: remove it"
        case .unreadable(let path): "\(path) is damaged: remove it, and sign in again"
        case .unknownVersion(let path, let version):
            "\(path) is of version \(version), which this program does not know: use the one that wrote it, or sign in "
                + "again"
        case .otherAccount(let path): "\(path) is of another account than its name says: remove it, and sign in again"
        case .invalidAccountName: "an account cannot be called like that"
        case .systemCallFailed(let operation, let path, let code):
            "\(operation) of \(path) failed: \(DescriptorError.failed(code: code).message)"
        case .locked(let path): "another process holds \(path) for too long"
        }
    }
}
