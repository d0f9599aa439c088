// The process and the machine: cores, descriptors, memory, processor time.
import BenchmarkResults
import CBareClient
import Foundation

/// How many descriptors the process may have.
enum Descriptors {
    /// Asks for as many as the system allows.
    static func raiseLimit() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// How many are open, the one included that is needed to look.
    static func openCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    /// Throws when so many connections cannot be opened, and says what helps.
    static func require(_ connectionCount: Int) throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let needed = connectionCount + 200
        guard Int(clamping: limit.rlim_cur) >= needed else {
            throw WrongResultError(
                "\(connectionCount) connections need \(needed) descriptors, and the hard limit is \(limit.rlim_cur): "
                    + "run 'ulimit -Hn \(needed)' as root, or set LimitNOFILE")
        }
    }
}

/// What the process uses.
enum ProcessUse {
    /// Resident memory in bytes.
    static func residentByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        guard let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw WrongResultError("/proc/self/statm says nothing")
        }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Processor time of all threads, in seconds.
    static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Processor time of the transport's service threads, in seconds.
    static func serviceTime() throws -> Double {
        let folder = "/proc/self/task"
        var sum: UInt64 = 0
        for thread in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let name = try String(contentsOfFile: "\(folder)/\(thread)/comm", encoding: .utf8)
            guard name.hasPrefix("chappie-service"), let number = CInt(thread) else { continue }
            sum += cbc_thread_time(number)
        }
        return Double(sum) / 1e9
    }
}

/// Output that is there at once, also in a pipe.
enum Line {
    static func print(_ text: String) {
        // Whoever has read enough may have closed the pipe.
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }
}

/// Where the programs are.
enum Programs {
    static let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    static let server = Self.own.deletingLastPathComponent().appending(path: "stream-server")
}
