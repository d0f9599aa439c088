import StreamTransport

/// Memory of empty buffers, for the next stream that has something to keep.
///
/// A lock held for a few lines. What was given last is taken first, because it may still be in the processor's cache.
final class InboundMemoryPool: Sendable {
    /// More than this is given back to the allocator.
    static let byteLimit = 4 << 20

    private struct State {
        var storages: [InboundBuffer.Storage] = []
        var byteCount = 0
    }

    /// The process's pool.
    static let shared = InboundMemoryPool()

    private let state = LockedValue(State())

    /// How much it holds.
    var byteCount: Int { self.state.withLock { $0.byteCount } }

    /// Memory with nothing in it.
    func take() -> InboundBuffer.Storage {
        let known: InboundBuffer.Storage? = self.state.withLock { state in
            guard let storage = state.storages.popLast() else { return nil }
            state.byteCount -= storage.byteCount
            return storage
        }
        return known ?? InboundBuffer.Storage()
    }

    /// Keeps memory, which must be empty, if there is room for it.
    func give(_ storage: InboundBuffer.Storage) {
        let byteCount = storage.byteCount
        self.state.withLock { state in
            guard state.byteCount + byteCount <= Self.byteLimit else { return }
            state.byteCount += byteCount
            state.storages.append(storage)
        }
    }
}
