// The resources of the process that asynchronous functions need, looked at before the first of them runs.
import ChappieTestServer
import Dispatch
import PlatformC
import PlatformFoundation

/// A limit of the process that leaves no room for asynchronous functions.
///
/// libdispatch ends a process that has no descriptor left for its event loop, and waits for ever, deaf to signals, for a
/// thread that the system refuses.
enum ResourceShortage: Error, Equatable {
    /// The limit of descriptors (`ulimit -n`).
    case descriptors(limit: Int)
    /// The limit of the address space (`ulimit -v`) or of threads (`ulimit -u`), or of the machine's memory.
    case memory

    /// The descriptors of libdispatch's event loop, its timers, and its look at the threads of the process
    /// (`/proc/N/stat`).
    private static let descriptorCount = 5
    /// The threads beside those of the cores.
    ///
    /// They are libdispatch's own, and those that wait for signals and input, of the service, a look-up and the embedded
    /// server. Four ran at a time in a stream, six with the server.
    private static let threadCount = 6
    /// The threads of further cores do not count: few tasks run at a time.
    private static let coreCountLimit = 16
    /// The heap of a stream over TLS beside the stacks of the threads, twice as much as was measured.
    private static let heapByteCount = 32 << 20

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
            "The process has no memory left for its threads. Raise the limit (ulimit -v, ulimit -u), or close other "
                + "programs."
        }
    }

    /// Creates the shortage that is an error, or for which a server in this process could not be started; nil for
    /// another reason.
    init?(_ error: any Error) {
        switch error {
        case let shortage as Self: self = shortage
        case ChappieTestServer.StartError.cannotListen(code: EMFILE):
            self = .descriptors(limit: Self.limit(of: .descriptors))
        case ChappieTestServer.StartError.noThread: self = .memory
        default: return nil
        }
    }

    /// Returns the shortage at this moment; nil when there is none.
    ///
    /// Call it before the first other thread starts.
    static func current() -> Self? {
        if let limit = Self.exhaustedDescriptorLimit() { return .descriptors(limit: limit) }
        if Self.limit(of: .addressSpace) < Int.max { Self.useOneArena() }
        return Self.hasRoomForThreads() ? nil : .memory
    }

    private static func exhaustedDescriptorLimit() -> Int? {
        var descriptors: [CInt] = []
        defer { for descriptor in descriptors { _ = close(descriptor) } }
        while descriptors.count < Self.descriptorCount {
            let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            // A sandbox may lack the file, and then says nothing about the limit.
            guard descriptor >= 0 else { return errno == EMFILE ? Self.limit(of: .descriptors) : nil }
            descriptors.append(descriptor)
        }
        return nil
    }

    // MARK: Threads

    /// Starts as many threads as there may be, and returns whether the system gives them and leaves room for the heap.
    private static func hasRoomForThreads() -> Bool {
        let count = Self.threadCount + min(ProcessInfo.processInfo.activeProcessorCount, Self.coreCountLimit)
        let end = DispatchSemaphore(value: 0)
        var threads: [SystemThread] = []
        defer {
            for _ in threads { end.signal() }
            for thread in threads { thread.join() }
        }
        while threads.count < count {
            guard let thread = SystemThread.start({ end.wait() }) else { return false }
            threads.append(thread)
        }
        return Self.hasHeap()
    }

    private static func hasHeap() -> Bool {
        // No page of it is used.
        let flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE
        guard let start = unsafe mmap(nil, Self.heapByteCount, PROT_READ | PROT_WRITE, flags, -1, 0),
            unsafe start != MAP_FAILED
        else { return false }
        _ = unsafe munmap(start, Self.heapByteCount)
        return true
    }

    /// Lets all threads allocate from one arena: each would reserve 64 MiB for its own (mallopt(3)), if it can have
    /// them, and leave no room for the next thread.
    private static func useOneArena() {
        #if canImport(Glibc)
            // Swift's module of the C library lacks `mallopt`, and M_ARENA_MAX.
            typealias Call = @convention(c) (CInt, CInt) -> CInt
            guard let address = unsafe dlsym(nil, "mallopt") else { return }
            _ = unsafe unsafeBitCast(address, to: Call.self)(-8, 1)
        #endif
    }

    // MARK: Limits

    private enum Resource { case descriptors, addressSpace }

    /// Returns a soft limit of the process; `Int.max` where there is none.
    private static func limit(of resource: Resource) -> Int {
        var limit = rlimit()
        #if canImport(Glibc)
            let number = resource == .descriptors ? RLIMIT_NOFILE.rawValue : RLIMIT_AS.rawValue
            let code = unsafe getrlimit(__rlimit_resource_t(number), &limit)
        #else
            let code = unsafe getrlimit(resource == .descriptors ? RLIMIT_NOFILE : RLIMIT_AS, &limit)
        #endif
        return code == 0 ? Int(clamping: limit.rlim_cur) : Int.max
    }
}
