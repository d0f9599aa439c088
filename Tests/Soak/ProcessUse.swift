// What the process holds: descriptors and memory.
import Foundation

/// A measurement of the process.
struct ProcessUse: Sendable, CustomStringConvertible {
    let descriptors: Int

    var description: String { "\(self.descriptors) descriptors" }

    /// Measures when what was given up is gone, which takes a moment.
    ///
    /// Waits for up to 15 s for no more descriptors than there were, or for a number that stays.
    static func atRest(notAbove before: Self?) async throws -> Self {
        var last = try Self.now()
        for _ in 0..<150 {
            try await Task.sleep(for: .milliseconds(100))
            let next = try Self.now()
            if let before {
                if next.descriptors <= before.descriptors { return next }
            } else if next.descriptors == last.descriptors {
                return next
            }
            last = next
        }
        return last
    }

    private static func now() throws -> Self {
        Self(descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count)
    }

    /// Resident memory in bytes.
    static func residentByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
