import PlatformC

#if canImport(Security)
    import Security
#endif

/// The source of secrets: the system, or a test.
struct SecureRandom: Sendable {
    /// Returns unpredictable bytes, 256 at most; throws `secureRandomFailed`.
    let bytes: @Sendable (Int) throws(ChappieAuthError) -> [UInt8]

    /// The system's generator.
    static let system = SecureRandom { count throws(ChappieAuthError) in
        var bytes = [UInt8](repeating: 0, count: count)
        #if canImport(Darwin)
            let status = unsafe SecRandomCopyBytes(kSecRandomDefault, count, &bytes)
        #else
            let status = unsafe bytes.withUnsafeMutableBytes { unsafe SystemRandom.fill($0) } ? 0 : errno
        #endif
        guard status == 0 else { throw .secureRandomFailed(statusCode: status) }
        return bytes
    }
}
