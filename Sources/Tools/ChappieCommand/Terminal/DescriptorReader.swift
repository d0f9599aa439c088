// Unbuffered input, and whole files.
import PlatformC

/// Reads from a file descriptor that it does not own.
struct DescriptorReader: Sendable {
    /// The descriptor.
    let descriptor: CInt

    /// The process's standard input.
    static let standardInput = Self(descriptor: STDIN_FILENO)

    /// Reads the available bytes, `limit` at most; waits for the first one.
    ///
    /// Empty at the end of the input.
    func read(upTo limit: Int) throws(DescriptorError) -> [UInt8] {
        while true {
            var code: CInt = 0
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                let result = unsafe PlatformC.read(self.descriptor, buffer.baseAddress, limit)
                code = result < 0 ? errno : 0
                count = max(0, result)
            }
            switch code {
            case 0: return bytes
            case EINTR: continue
            case EAGAIN: self.waitUntilReadable()
            default: throw .failed(code: code)
            }
        }
    }

    /// Reads all bytes up to the end.
    func readToEnd() throws(DescriptorError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try self.read(upTo: 1 << 16)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }

    /// Returns the bytes of a file.
    static func bytes(ofFile path: String) throws(UsageError) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw UsageError("cannot read \(path): \(DescriptorError.failed(code: errno).message)")
        }
        defer { _ = close(descriptor) }
        do throws(DescriptorError) {
            return try Self(descriptor: descriptor).readToEnd()
        } catch {
            throw UsageError("cannot read \(path): \(error.message)")
        }
    }

    private func waitUntilReadable() {
        var request = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&request, 1, -1)
    }
}
