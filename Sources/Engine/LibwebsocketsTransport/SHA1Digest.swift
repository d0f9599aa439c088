import CLibwebsocketsShim

/// The digests of SHA-1 (RFC 3174), by the TLS library, where a protocol names things by them.
package enum SHA1Digest {
    /// Returns the 20 bytes of the digest.
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        clws_sha1(bytes, bytes.count, &digest)
        return digest
    }
}
