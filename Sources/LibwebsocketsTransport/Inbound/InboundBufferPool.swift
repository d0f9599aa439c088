import StreamTransport

/// The unused large buffers, which busy connections share so that idle ones hold none.
///
/// A buffer that is freed and allocated again costs a page fault for each page.
final class InboundBufferPool: Sendable {
    /// The largest number of buffers that are kept: the most that one stream may leave unread, and one read.
    private static let limit = 3

    /// The memory of the buffers that were made here, also of those that were taken.
    let memory = InboundMemory()
    private let buffers = LockedValue<[InboundBuffer]>([])

    /// Takes an empty large buffer.
    func take() -> InboundBuffer {
        self.buffers.withLock { $0.popLast() }
            ?? InboundBuffer(byteCount: InboundBuffer.largeByteCount, account: self.memory)
    }

    /// Keeps a large buffer for the next reader.
    func giveBack(_ buffer: InboundBuffer) {
        buffer.removeAll()
        self.buffers.withLock { buffers in
            if buffers.count < Self.limit { buffers.append(buffer) }
        }
    }
}
