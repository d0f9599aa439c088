/// Memory for the bytes that pass between layers, which the connections of a service thread use in turn.
///
/// It belongs to the service thread. Its contents are valid within one step only, except `output`, which the caller of
/// a step takes.
final class LayerScratch {
    /// The most bytes of one write above the layers.
    static let writeByteCount = 64 << 10
    /// The most bytes of one read below the layers.
    static let readByteCount = 256 << 10

    /// The bytes that a socket has received, where layers are between it and the consumer.
    let incoming = UnsafeMutableRawBufferPointer.allocate(byteCount: readByteCount, alignment: 64)
    /// The plaintext of the lower of two layers.
    let between = UnsafeMutableRawBufferPointer.allocate(
        byteCount: readByteCount + TLSLayer.overhead, alignment: 64)
    /// The bytes to write, above the layers.
    let outgoing = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: writeByteCount)
    /// The ciphertext of layers: one reads from the buffer that the other has written.
    let ciphertext = (LayerScratch.ciphertextBuffer(), LayerScratch.ciphertextBuffer())
    /// The bytes for the socket, in order.
    var output: [UInt8] = []

    deinit {
        self.incoming.deallocate()
        self.between.deallocate()
        self.outgoing.deallocate()
        self.ciphertext.0.deallocate()
        self.ciphertext.1.deallocate()
    }

    private static func ciphertextBuffer() -> UnsafeMutableRawBufferPointer {
        .allocate(byteCount: writeByteCount + TLSLayer.overhead, alignment: 64)
    }

    /// Takes the bytes for the socket.
    ///
    /// The memory is kept, unless it is large.
    func takeOutput(_ body: (UnsafeRawBufferPointer) -> Void) {
        guard !self.output.isEmpty else { return }
        self.output.withUnsafeBytes(body)
        self.output.removeAll(keepingCapacity: self.output.capacity <= 2 * Self.writeByteCount)
    }
}
