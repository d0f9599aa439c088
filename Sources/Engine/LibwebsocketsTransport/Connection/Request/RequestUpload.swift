/// A request's head and body, in the order in which they are written.
///
/// It belongs to the service thread.
struct RequestUpload {
    private let head: [UInt8]
    private let body: [UInt8]
    private var offset = 0

    /// Creates an upload of which no byte was written.
    init(head: [UInt8], body: [UInt8]) {
        self.head = head
        self.body = body
    }

    /// Indicates whether everything was taken.
    var isComplete: Bool { self.offset == self.head.count + self.body.count }

    /// The number of bytes of the body that were taken.
    var bodyByteCount: Int { max(0, self.offset - self.head.count) }

    /// Moves the next bytes into a buffer; returns their number.
    mutating func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var filled = 0
        for (part, start) in [(self.head, 0), (self.body, self.head.count)] {
            let position = max(0, self.offset + filled - start)
            let count = min(buffer.count - filled, part.count - position)
            guard count > 0 else { continue }
            let target = UnsafeMutableBufferPointer(rebasing: buffer[filled..<filled + count])
            _ = target.update(fromContentsOf: part[position..<position + count])
            filled += count
        }
        self.offset += filled
        return filled
    }
}
