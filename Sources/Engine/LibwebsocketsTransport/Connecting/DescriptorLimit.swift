import PlatformC

/// The limit on the number of file descriptors of the process.
package enum DescriptorLimit {
    /// The descriptors that are left to the rest of the process.
    ///
    /// libdispatch ends a process that has none left when it looks at its threads, once a second while work waits
    /// (`/proc/N/stat`).
    package static let reserve = 1

    /// Returns the limit when `count` descriptors cannot be opened at this moment, and otherwise nil.
    ///
    /// Libraries report a missing descriptor with different errors, or with none.
    static func exhausted(wanting count: Int = 1) -> Int? {
        Self.errorOfOpening(count) == EMFILE ? Self.current : nil
    }

    /// Returns whether this number of descriptors can be opened at this moment.
    package static func hasRoom(for count: Int) -> Bool { Self.errorOfOpening(count) == 0 }

    /// Opens `count` descriptors and closes them again; returns the `errno` of the first that could not be opened, or
    /// 0.
    private static func errorOfOpening(_ count: Int) -> CInt {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { close(descriptor) } }
        while descriptors.count < count {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return errno }
            descriptors.append(descriptor)
        }
        return 0
    }

    /// The soft limit, as `ulimit -n` prints it.
    package static var current: Int {
        var limit = rlimit()
        #if canImport(Glibc)
            let code = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            let code = getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        return code == 0 ? Int(clamping: limit.rlim_cur) : 0
    }
}
