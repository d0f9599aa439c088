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
    /// Anything else; the value is `errno`.
    case failed(code: CInt)

    /// The system's words for it.
    var message: String {
        switch self {
        case .closed: "nobody reads the output"
        case .failed(let code): unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        }
    }
}
