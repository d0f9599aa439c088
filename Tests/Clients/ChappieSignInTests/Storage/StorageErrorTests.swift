import ChappieTransport
import Foundation
import Testing

@testable import ChappieSignIn

/// The descriptions of storage errors.
@Suite struct StorageErrorTests {
    private static let errors: [(ChappieCredentialStorageError, String, ChappieErrorCategory)] = [
        (.insecurePermissions(path: "/p", mode: "644"), "credentials.insecure-permissions", .permission),
        (.foreignOwner(path: "/p"), "credentials.foreign-owner", .permission),
        (.notAFile(path: "/p"), "credentials.not-a-file", .permission),
        (.unreadable(path: "/p"), "credentials.unreadable", .validation),
        (.unknownVersion(path: "/p", version: 9), "credentials.unknown-version", .validation),
        (.otherAccount(path: "/p"), "credentials.other-account", .validation),
        (.invalidAccountName, "credentials.invalid-account-name", .validation),
        (.systemCallFailed(operation: "write", path: "/p", code: ENOSPC), "credentials.system", .internal),
        (.systemCallFailed(operation: "open", path: "/p", code: EACCES), "credentials.system", .permission),
        (.locked(path: "/p"), "credentials.locked", .internal),
    ]

    @Test func everyErrorHasAProblemAndAdvice() {
        for (error, tag, category) in Self.errors {
            #expect(error.tag == tag)
            #expect(error.category == category)
            #expect(error.isRetryable == (tag == "credentials.locked"))
            #expect(error.localizedDescription == error.safeDescription)
            #expect(error.safeDescription == "\(error.failureReason ?? "") \(error.recoverySuggestion ?? "")")
            #expect(error.safeDescription.contains("/p") || error == .invalidAccountName)
            #expect(error.description == "\(tag): \(error.safeDescription)")
            #expect(String(reflecting: error) == "ChappieCredentialStorageError(\(error.description))")
        }
    }

    @Test func fullDiskIsReported() {
        let error = ChappieCredentialStorageError.systemCallFailed(operation: "write", path: "/p", code: ENOSPC)
        #expect(error.safeDescription == "write failed for /p: No space left on device. Make room, and try again.")
    }
}
