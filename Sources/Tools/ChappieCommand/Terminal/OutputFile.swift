// A file that a command writes when its work is done.
import PlatformC
import PlatformFoundation

/// A file that is opened before the work begins, so that an invalid name is noticed in time.
///
/// Owned by the command that opened it, which closes it by writing.
struct OutputFile {
    private let descriptor: CInt
    private let path: String

    /// Creates the file, or empties it.
    init(path: String) throws(UsageError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw UsageError("cannot write \(path): \(DescriptorError.failed(code: errno).message)")
        }
        self.descriptor = descriptor
        self.path = path
    }

    /// Writes a report as JSON, and closes the file.
    func finish(report: some Encodable) throws(UsageError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        // Encoding fails only for numbers that are not finite, and times are.
        try self.finish((try? encoder.encode(report)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? "{}\n")
    }

    /// Writes the file's content and closes it.
    func finish(_ text: String) throws(UsageError) {
        defer { _ = close(self.descriptor) }
        do throws(DescriptorError) {
            try DescriptorWriter(descriptor: self.descriptor).write(text)
        } catch {
            throw UsageError("cannot write \(self.path): \(error.message)")
        }
    }
}
