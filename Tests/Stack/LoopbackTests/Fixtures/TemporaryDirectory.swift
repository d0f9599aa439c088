import Foundation

/// A directory for the files of one test; it goes with its owner.
final class TemporaryDirectory: Sendable {
    /// The location of the directory.
    let url: URL

    init() throws {
        self.url = FileManager.default.temporaryDirectory.appendingPathComponent("chappie-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.url) }

    /// The path of a file in it.
    func path(of name: String) -> String { self.url.appendingPathComponent(name).path }

    /// Writes a file; its path.
    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        let path = self.path(of: name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}
