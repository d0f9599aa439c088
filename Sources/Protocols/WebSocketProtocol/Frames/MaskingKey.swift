/// The four random bytes that mask one frame.
///
/// The caller generates them, from a source that the peer cannot predict (RFC 6455 section 10.3).
package struct MaskingKey: RawRepresentable, Hashable, Sendable {
    /// The key as a number whose most significant byte is the first on the wire.
    package let rawValue: UInt32

    /// Makes a key of four random bytes.
    package init(rawValue: UInt32) { self.rawValue = rawValue }
}
