// The exit codes of the process: the one table from errors to exit codes.
//
// Values without an owner.
import Chappie
import ChappieSignIn
import ChappieTestServer

/// The exit code of a command, for its parent process.
///
/// The numbers follow BSD's sysexits where that has one, `timeout` for 124 and the shells for 130.
enum ExitCode: Int32, Sendable, CaseIterable {
    /// The command succeeded.
    case success = 0
    /// The command line, or a file that it names, is invalid.
    case usage = 64
    /// The server's data is invalid, or a replay diverged.
    case wrongData = 65
    /// The server is unreachable, has refused or has failed, and retrying did not help.
    case unavailable = 69
    /// A defect of this program.
    case defect = 70
    /// A rate or usage limit was reached: try later.
    case tryLater = 75
    /// The credentials are missing or were refused.
    case credentials = 77
    /// A time budget ran out.
    case timedOut = 124
    /// The user interrupted the command.
    case interrupted = 130
}

extension ExitCode {
    /// Returns the exit code for an error of a command.
    init(_ error: any Error) {
        switch error {
        case let error as ChappieCredentialStorageError: self.init(error)
        case let error as any LibraryError: self.init(tag: error.tag, category: error.category)
        case is SignedOutError, is NoServerError: self = .credentials
        case is ReconnectionsUsedUpError: self = .unavailable
        case is CancellationError: self = .interrupted
        case is UsageError: self = .usage
        case DescriptorError.interrupted: self = .interrupted
        case DescriptorError.late: self = .timedOut
        case is DescriptorError, is ChappieTestServer.StartError: self = .unavailable
        case _ where ResourceShortage(error) != nil: self = .unavailable
        default: self = .defect
        }
    }

    /// Returns the exit code by the tag where that is listed, otherwise by the category.
    init(tag: String, category: ChappieErrorCategory) {
        self = Self.exceptions[tag] ?? (tag.hasPrefix("timeout.") ? .timedOut : Self(category))
        // A refused opening handshake has the category of its status code; only an invalid one is wrong data.
        if tag == "ws.opening-handshake", category == .server { self = .wrongData }
    }

    private init(_ error: ChappieCredentialStorageError) {
        switch error {
        case .insecurePermissions, .foreignOwner, .notAFile, .unreadable, .unknownVersion, .otherAccount:
            self = .credentials
        case .invalidAccountName: self = .usage
        case .systemCallFailed: self = .unavailable
        case .locked: self = .timedOut
        }
    }

    private init(_ category: ChappieErrorCategory) {
        switch category {
        case .auth, .permission: self = .credentials
        case .network, .server, .validation: self = .unavailable
        case .rateLimit: self = .tryLater
        case .internal: self = .defect
        }
    }

    private static let exceptions: [String: Self] = [
        "auth.callback-timeout": .timedOut,
        "auth.cancelled": .interrupted,
        "auth.expired-device-code": .timedOut,
        "auth.invalid-response": .wrongData,
        "auth.polling-timeout": .timedOut,
        "descriptors.exhausted": .unavailable,
        "event.contradictory": .wrongData,
        "event.other-api": .wrongData,
        "event.sequence-gap": .wrongData,
        "event.too-large": .wrongData,
        "event.tool-output-awaited": .timedOut,
        "output.too-large": .wrongData,
        "event.undecodable": .wrongData,
        "http.content-coding": .wrongData,
        "http.content-type": .wrongData,
        "http.corrupt-content-coding": .wrongData,
        "http.header-section-too-large": .wrongData,
        "http.malformed-body": .wrongData,
        "http.not-http": .wrongData,
        "http.transfer-coding": .wrongData,
        "proxy.invalid": .usage,
        "proxy.not-socks": .wrongData,
        "replay.diverged": .wrongData,
        "request.invalid": .usage,
        "request.too-large": .usage,
        "response.invalid": .wrongData,
        "tls.client-certificate": .usage,
        "tls.trust-anchors": .usage,
        "turn.time-limit": .timedOut,
        "unavailable": .unavailable,
        "ws.binary-message": .wrongData,
        "ws.protocol-violation": .wrongData,
    ]
}
