// The resources of the process that asynchronous functions need, looked at before the first of them runs.
import ChappieTestServer
import PlatformC
import PlatformFoundation

/// A limit of the process that leaves no room for asynchronous functions.
///
/// libdispatch ends a process that has no descriptor left for its event loop, and waits for ever, deaf to signals, for a
/// thread that the system refuses.
enum ResourceShortage: Error, Equatable {
    /// The limit of descriptors (`ulimit -n`).
    case descriptors(limit: Int)
    /// The limit of the address space (`ulimit -v`), or of the machine's memory.
    case memory

    /// The descriptors of libdispatch's event loop, its timers, and its look at the threads of the process
    /// (`/proc/self/task`).
    private static let descriptorCount = 5
    /// The stacks of the threads (8 MiB each by default) and the heap of a stream: with 48 MiB less the process ended by
    /// a signal in some runs, measured with `chappie stream --demo` (`ulimit -v`, in steps of 4 MiB, 2 cores).
    private static let addressByteCount = 64 << 20
    /// The stack of a further thread for each core beyond two, up to this number.
    private static let coreCountLimit = 16

    /// The stable name.
    var tag: String {
        switch self {
        case .descriptors: "descriptors.exhausted"
        case .memory: "memory.exhausted"
        }
    }

    /// The problem and the advice.
    var message: String {
        switch self {
        case .descriptors(let limit):
            "The process has no file descriptor left of \(limit) (ulimit -n). Raise the limit (ulimit -n)."
        case .memory:
            "The process has no memory left for its threads. Raise the limit (ulimit -v), or close other programs."
        }
    }

    /// Creates the shortage for which the server in this process could not be started; nil for another reason.
    init?(_ error: ChappieTestServer.StartError) {
        switch error {
        case .cannotListen(code: EMFILE): self = .descriptors(limit: Self.descriptorLimit)
        case .noThread: self = .memory
        case .cannotListen, .noCertificate: return nil
        }
    }

    /// Returns the shortage at this moment; nil when there is none.
    static func current() -> Self? {
        if let limit = Self.exhaustedDescriptorLimit() { return .descriptors(limit: limit) }
        return Self.hasAddressSpace() ? nil : .memory
    }

    private static func exhaustedDescriptorLimit() -> Int? {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { _ = close(descriptor) } }
        while descriptors.count < Self.descriptorCount {
            let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            // A sandbox may lack the file, and then says nothing about the limit.
            guard descriptor >= 0 else { return errno == EMFILE ? Self.descriptorLimit : nil }
            descriptors.append(descriptor)
        }
        return nil
    }

    private static var descriptorLimit: Int {
        var limit = rlimit()
        #if canImport(Glibc)
            let code = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
            let code = unsafe getrlimit(RLIMIT_NOFILE, &limit)
        #endif
        return code == 0 ? Int(clamping: limit.rlim_cur) : 0
    }

    private static func hasAddressSpace() -> Bool {
        let cores = min(max(ProcessInfo.processInfo.activeProcessorCount, 2), Self.coreCountLimit)
        let byteCount = Self.addressByteCount + (cores - 2) * (8 << 20)
        // No page of it is used.
        let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
        guard let start = unsafe mmap(nil, byteCount, PROT_NONE, flags, -1, 0), unsafe start != MAP_FAILED else {
            return false
        }
        _ = unsafe munmap(start, byteCount)
        return true
    }
}
