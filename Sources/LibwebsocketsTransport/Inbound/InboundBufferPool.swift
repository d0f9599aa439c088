import StreamTransport

/// Large buffers that nobody has in hand: connections that are read fast share them, and idle ones have none.
///
/// A buffer that was freed and made again would be paid for page by page.
final class InboundBufferPool: Sendable {
    /// How many are kept: as much as one stream may leave unread, and a read.
    private static let limit = 3

    private let buffers = LockedValue<[InboundBuffer]>([])

    /// A large buffer, empty.
    func take() -> InboundBuffer {
        self.buffers.withLock { $0.popLast() } ?? InboundBuffer(byteCount: InboundBuffer.largeByteCount)
    }

    /// Keeps a large buffer for the next reader.
    func giveBack(_ buffer: InboundBuffer) {
        buffer.removeAll()
        self.buffers.withLock { buffers in
            if buffers.count < Self.limit { buffers.append(buffer) }
        }
    }
}
