// The errors of reading or writing a file descriptor.
import PlatformC

/// A file descriptor that cannot be read or written.
enum DescriptorError: Error, Equatable {
    /// The reader has closed its end (`EPIPE`): the usual end of `chappie … | head`.
    case closed
    /// The process was interrupted while a write waited for room.
    case interrupted
    /// The time limit of the whole command was over while a write waited for room.
    case late
    /// Another error; the value is `errno`.
    case failed(code: CInt)

    /// The system's description of the error.
    var message: String {
        switch self {
        case .closed: "nobody reads the output"
        case .interrupted: "interrupted while nobody read the output"
        case .late: "time ran out while nobody read the output"
        case .failed(let code): unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        }
    }
}
