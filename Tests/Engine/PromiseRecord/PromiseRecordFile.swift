// A file of records, one a line.
//
// Shared by the threads that run turns; one lock guards it.
import Foundation
import Synchronization

/// Writes records in the order in which their runs end.
package final class PromiseRecordFile: Sendable {
    private let handle: Mutex<FileHandle>

    /// Begins an empty file; nil when it cannot be written.
    package init?(path: String, appends: Bool = false) {
        if !appends || !FileManager.default.fileExists(atPath: path) {
            guard FileManager.default.createFile(atPath: path, contents: nil) else { return nil }
        }
        guard let handle = FileHandle(forWritingAtPath: path) else { return nil }
        _ = try? handle.seekToEnd()
        self.handle = Mutex(handle)
    }

    /// Adds a run.
    package func write(_ record: PromiseRecord) {
        let line = Data((record.line + "\n").utf8)
        self.handle.withLock { $0.write(line) }
    }
}
