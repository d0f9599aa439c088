// The resources of the process: descriptors, threads and memory.
import Foundation

/// A measurement of the process.
struct ProcessUse: Sendable, CustomStringConvertible {
    let descriptors: Int
    let threads: Int

    /// The threads that come and go with the load: those of tasks.
    private static let threadSlack = 8

    var description: String { "\(self.descriptors) descriptors, \(self.threads) threads" }

    /// Returns what is held now and was not held before.
    func violations(since before: Self) -> [String] {
        var violations: [String] = []
        if self.descriptors > before.descriptors {
            violations.append("descriptors were kept: \(before), and now \(self)")
        }
        if self.threads > before.threads + Self.threadSlack {
            violations.append("threads were kept: \(before), and now \(self)")
        }
        return violations
    }

    /// Measures when what was given up is gone, which takes a moment.
    ///
    /// Waits for up to 15 s for no more descriptors and threads than there were, or for numbers that stay.
    static func atRest(notAbove before: Self?) async throws -> Self {
        var last = try Self.now()
        for _ in 0..<150 {
            try await Task.sleep(for: .milliseconds(100))
            let next = try Self.now()
            if let before {
                if next.violations(since: before).isEmpty { return next }
            } else if next.descriptors == last.descriptors, next.threads == last.threads {
                return next
            }
            last = next
        }
        return last
    }

    private static func now() throws -> Self {
        Self(
            descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
            threads: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count)
    }

    /// Resident memory in bytes.
    static func residentByteCount() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
