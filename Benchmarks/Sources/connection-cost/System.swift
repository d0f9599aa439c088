// The process and the machine: cores, descriptors, memory, processor time.
import Foundation

/// The limit of the process's descriptors.
enum Descriptors {
    /// Raises the limit as far as the system allows.
    static func raiseLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// The resources that the process uses.
enum ProcessUse {
    /// Resident memory in bytes.
    static func residentByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw WrongResultError("/proc/self/statm has no resident size")
        }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The most resident memory so far in bytes; the value of `getrusage` includes the parent before `exec`.
    static func peakByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        guard let kibibytes = line.flatMap({ Int($0.filter(\.isNumber)) }) else {
            throw WrongResultError("/proc/self/status has no VmHWM")
        }
        return kibibytes * 1_024
    }

    /// Context switches of all threads.
    static var switchCount: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_nvcsw + usage.ru_nivcsw
    }

    /// Processor time of all threads, in seconds.
    static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Output without a buffer, also into a pipe.
enum Line {
    static func print(_ text: String) {
        // The reader may have closed the pipe.
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }
}

/// The programs' files.
enum Programs {
    static let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    static let server = Self.own.deletingLastPathComponent().appending(path: "stream-server")
}
