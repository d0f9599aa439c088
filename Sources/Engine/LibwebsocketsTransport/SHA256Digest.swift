import CLibwebsocketsShim

/// The digests of SHA-256 (FIPS 180-4), by the TLS library.
package enum SHA256Digest {
    /// Returns the 32 bytes of the digest; nil when the library has no SHA-256.
    package static func digest(of bytes: [UInt8]) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: 32)
        return clws_sha256(bytes, bytes.count, &digest) ? digest : nil
    }
}
