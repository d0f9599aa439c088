// The resources of the process: descriptors, threads, memory.
//
// Read from /proc; without it, no resources are known or checked.
import Foundation

/// A measurement of the process.
struct ProcessUse: Equatable, Sendable, CustomStringConvertible {
    /// Open descriptors.
    var descriptors: Int
    /// Threads.
    var threads: Int

    /// Measures; nil where the system does not tell.
    static func now() -> Self? {
        let files = FileManager.default
        guard let descriptors = try? files.contentsOfDirectory(atPath: "/proc/self/fd").count,
            let threads = try? files.contentsOfDirectory(atPath: "/proc/self/task").count
        else { return nil }
        return Self(descriptors: descriptors, threads: threads)
    }

    /// Returns whether no resources were kept since `other`.
    ///
    /// The pool that runs tasks begins and ends threads as it likes, up to one for each core. A leak after thousands of
    /// runs is more than that.
    func isWithin(_ other: Self) -> Bool {
        self.descriptors <= other.descriptors
            && self.threads <= other.threads + ProcessInfo.processInfo.activeProcessorCount
    }

    /// For messages.
    var description: String { "\(self.descriptors) descriptors and \(self.threads) threads" }

    /// Resident memory in bytes; nil where the system does not tell.
    static func residentByteCount() -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let fields = text.split(separator: " ")
        return fields.count > 1 ? Int(fields[1]).map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) } : nil
    }
}
