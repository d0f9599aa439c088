// The events that have arrived for one lane and were not taken. Guarded by the lock of the shared socket.

import ResponseEvents
import StreamTransport

/// The events of one lane, in order, with copies of their bytes.
///
/// Lent bytes stay in place until the next call of `take()`: new bytes are stored elsewhere meanwhile.
struct LaneInbox {
    private enum Item {
        case opened(ResponseHead)
        case payload(InboundPayload.Kind, offset: Int, byteCount: Int)
        case pong
        case ended(TransportEnd)
    }

    /// Some events, and the memory of their payloads.
    private struct Batch {
        var bytes = LaneBytes()
        var items: [Item] = []
        var next = 0

        var isEmpty: Bool { self.next == self.items.count }

        mutating func removeAll() {
            self.bytes.removeAll()
            self.items.removeAll(keepingCapacity: self.items.count <= 256)
            self.next = 0
        }
    }

    private var incoming = Batch()
    private var inHand = Batch()

    /// Indicates whether there is no event to take.
    var isEmpty: Bool { self.inHand.isEmpty && self.incoming.isEmpty }

    /// Adds an event, whose bytes are copied.
    mutating func append(_ event: TransportEvent) {
        switch event {
        case .ready: return
        case .pong: self.incoming.items.append(.pong)
        case .opened(let head): self.incoming.items.append(.opened(head))
        case .ended(let end): self.incoming.items.append(.ended(end))
        case .payload(let payload):
            let offset = self.incoming.bytes.count
            unsafe self.incoming.bytes.append(payload.bytes)
            self.incoming.items.append(.payload(payload.kind, offset: offset, byteCount: payload.byteCount))
        }
    }

    /// Forgets everything.
    mutating func removeAll() {
        self.incoming.removeAll()
        // Lent bytes stay in place.
        self.inHand.next = self.inHand.items.count
    }

    /// Takes the next event; returns nil when there is none.
    ///
    /// All events that arrived since the last time are in hand from then on.
    mutating func take() -> TransportEvent? {
        if self.inHand.isEmpty {
            self.inHand.removeAll()
            guard !self.incoming.isEmpty else { return nil }
            swap(&self.inHand, &self.incoming)
        }
        defer { self.inHand.next += 1 }
        switch self.inHand.items[self.inHand.next] {
        case .opened(let head): return .opened(head)
        case .pong: return .pong
        case .ended(let end): return .ended(end)
        case .payload(let kind, let offset, let byteCount):
            return unsafe .payload(
                InboundPayload(kind: kind, bytes: self.inHand.bytes.range(from: offset, byteCount: byteCount)))
        }
    }

    /// The number of bytes that arrived since all events were last taken in hand.
    var unreadByteCount: Int { self.incoming.bytes.count }
}

extension InboundPayload {
    /// The number of bytes.
    var byteCount: Int { unsafe self.bytes.count }
}

/// Memory that grows at its end, with room behind it that a vectorised parser may load.
///
/// - Safety: the memory is this object's, and its users are let in one at a time.
@safe private final class LaneBytes {
    private static let keptCapacity = 64 << 10

    private(set) var count = 0
    private var capacity = 0
    private var memory: UnsafeMutableRawPointer?

    deinit { unsafe self.memory?.deallocate() }

    func append(_ bytes: UnsafeRawBufferPointer) {
        let needed = self.count + bytes.count + ResponseEventDecoder.paddingByteCount
        if needed > self.capacity { self.grow(to: max(needed, 2 * self.capacity, 2 << 10)) }
        guard let memory = unsafe self.memory, let start = bytes.baseAddress else { return }
        unsafe (memory + self.count).copyMemory(from: start, byteCount: bytes.count)
        self.count += bytes.count
    }

    func range(from offset: Int, byteCount: Int) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: self.memory.map { unsafe $0 + offset }, count: byteCount)
    }

    func removeAll() {
        self.count = 0
        guard self.capacity > Self.keptCapacity else { return }
        unsafe self.memory?.deallocate()
        unsafe self.memory = nil
        self.capacity = 0
    }

    private func grow(to capacity: Int) {
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 64)
        // The room behind the last byte is loaded; its content does not matter, but must be initialized.
        unsafe larger.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
        if let memory = unsafe self.memory {
            unsafe larger.copyMemory(from: memory, byteCount: self.count)
            unsafe memory.deallocate()
        }
        unsafe self.memory = larger
        self.capacity = capacity
    }
}
