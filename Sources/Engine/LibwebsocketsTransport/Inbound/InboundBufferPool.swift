import StreamTransport

/// The unused large buffers, which busy connections share so that idle ones hold none.
///
/// A buffer that is freed and allocated again costs a page fault for each page. Any thread may use it.
final class InboundBufferPool: Sendable {
    private struct State {
        var buffers: [InboundBuffer] = []
        /// Indicates whether a buffer was taken since the last release.
        var isUsed = false
    }

    /// The largest number of kept buffers: about as many as 100 streams use in a flood.
    ///
    /// The C library puts small allocations into the freed memory of a buffer, and takes new memory for the next one.
    private static let limit = 6

    /// The memory of the buffers that were taken and not given back.
    let memory = InboundMemory()
    private let state = LockedValue(State())

    /// Takes an empty large buffer.
    func take() -> InboundBuffer {
        let kept = self.state.withLock { state in
            state.isUsed = true
            return state.buffers.popLast()
        }
        let buffer = kept ?? InboundBuffer(byteCount: InboundBuffer.largeByteCount)
        buffer.account = self.memory
        return buffer
    }

    /// Keeps a large buffer for the next reader.
    func giveBack(_ buffer: InboundBuffer) {
        buffer.removeAll()
        buffer.account = nil
        self.state.withLock { state in
            if state.buffers.count < Self.limit { state.buffers.append(buffer) }
        }
    }

    /// Frees the buffers, unless one was taken since the last call: the flood that needed them is over.
    func releaseUnused() {
        // They are freed after the lock.
        let unused = self.state.withLock { state in
            defer { state.isUsed = false }
            return state.isUsed ? [] : state.buffers.take()
        }
        _ = consume unused
    }
}
