import CTestServerTLS

/// The SHA-256 digest (FIPS 180-4), for PKCE.
enum SHA256 {
    /// Returns the digest of a message, 32 bytes.
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        ctts_sha256(message, message.count, &digest)
        return digest
    }
}
