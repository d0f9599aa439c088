import CProcessMemory
import Foundation

/// The system resources of the process at a moment.
struct ProcessHoldings: CustomStringConvertible {
    /// Open file descriptors.
    let descriptorCount: Int
    /// Memory that was allocated and not freed, in every arena.
    let usedByteCount: Int
    /// Resident memory.
    let residentByteCount: Int

    /// This moment's.
    init() throws {
        let entries = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        // One is the directory's own.
        self.descriptorCount = entries.count - 1
        process_memory_trim()
        self.usedByteCount = process_memory_used()
        let statistics = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/statm")).readToEnd() ?? Data()
        let pages = String(decoding: statistics, as: UTF8.self).split(separator: " ").dropFirst().first
        self.residentByteCount = (pages.flatMap { Int($0) } ?? 0) * Int(sysconf(CInt(_SC_PAGESIZE)))
    }

    var description: String {
        "\(self.descriptorCount) descriptors, \(self.usedByteCount >> 10) KiB in use, "
            + "\(self.residentByteCount >> 10) KiB resident"
    }
}
