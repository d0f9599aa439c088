// Random bytes of the system.

/// The system's source of random bytes that cannot be predicted.
package enum SystemRandom {
    /// The most bytes that one call gives (`getentropy`).
    package static let byteCountLimit = 256

    /// Fills at most `byteCountLimit` bytes by one system call; returns false when the system gives none, and for more
    /// bytes, with the reason in `errno`.
    package static func fill(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        #if canImport(Darwin)
            unsafe arc4random_buf(start, bytes.count)
            return true
        #else
            return unsafe getentropy(start, bytes.count) == 0
        #endif
    }
}
