// Memory of the service thread that every connection uses while it is read or written.
// The owner is the service thread.

import CLibwebsocketsShim

/// Three buffers that no connection keeps anything in.
///
/// - Safety: the memory is freed with its only owner, which lends it within one call.
final class ServerScratch {
    /// The most bytes of one read, and of one write.
    static let byteCount = 65_536

    /// The bytes that were read from a socket, and those that will be written to one without TLS.
    let input = UnsafeMutableRawBufferPointer.allocate(byteCount: ServerScratch.byteCount, alignment: 64)
    /// Decrypted bytes, and those that will be encrypted.
    let plaintext = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ServerScratch.byteCount + Int(CLWS_TLS_OVERHEAD), alignment: 64)
    /// Encrypted bytes.
    let ciphertext = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ServerScratch.byteCount + Int(CLWS_TLS_OVERHEAD), alignment: 64)

    deinit {
        self.input.deallocate()
        self.plaintext.deallocate()
        self.ciphertext.deallocate()
    }
}
