// Why reading or writing a file descriptor failed.
#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A file descriptor that cannot be read or written.
enum DescriptorError: Error, Equatable {
    /// Nobody reads what is written (`EPIPE`): the usual end of `chappie … | head`.
    case closed
    /// The process was interrupted while nobody made room for what was to be written.
    case interrupted
    /// The same, when the time of the whole command was over.
    case late
    /// Anything else; the value is `errno`.
    case failed(code: CInt)

    /// The system's words for it.
    var message: String {
        switch self {
        case .closed: "nobody reads the output"
        case .interrupted: "interrupted while nobody read the output"
        case .late: "time ran out while nobody read the output"
        case .failed(let code): unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        }
    }
}
