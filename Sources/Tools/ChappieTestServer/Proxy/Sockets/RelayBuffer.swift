// The bytes of one direction between reading and writing.
//
// A value owned by its relay.

/// A buffer of at most 64 KiB.
struct RelayBuffer {
    /// The limit.
    static let capacity = 64 * 1024

    private var bytes: [UInt8] = []
    private var start = 0
    private var end = 0

    /// The number of buffered bytes.
    var count: Int { self.end - self.start }

    /// Indicates whether more can be read.
    var hasSpace: Bool { self.count < Self.capacity }

    /// Appends the socket's bytes, as far as there is space.
    mutating func receive(from socket: ProxySocket) -> ProxySocket.Received {
        // The storage is allocated with the first byte: thousands of idle connections need none.
        if self.bytes.isEmpty { self.bytes = [UInt8](repeating: 0, count: Self.capacity) }
        if self.count == 0 { (self.start, self.end) = (0, 0) }
        if self.end == Self.capacity {
            self.bytes.replaceSubrange(0..<self.count, with: Array(self.bytes[self.start..<self.end]))
            (self.start, self.end) = (0, self.count)
        }
        let end = self.end
        let received = self.bytes.withUnsafeMutableBytes { storage in
            socket.receive(UnsafeMutableRawBufferPointer(rebasing: storage[end...]))
        }
        if case .bytes(let count) = received { self.end += count }
        return received
    }

    /// Sends at most `count` bytes and removes those that were written.
    mutating func send(_ count: Int, to socket: ProxySocket) -> ProxySocket.Sent {
        let range = self.start..<self.start + count
        let sent = self.bytes.withUnsafeBytes { socket.send(UnsafeRawBufferPointer(rebasing: $0[range])) }
        if case .bytes(let count) = sent { self.start += count }
        return sent
    }

    /// Flips bits of the first byte.
    mutating func corruptFirst(mask: UInt8) { self.bytes[self.start] ^= mask }

    /// Drops all bytes, and the storage.
    mutating func removeAll() { self = RelayBuffer() }
}
