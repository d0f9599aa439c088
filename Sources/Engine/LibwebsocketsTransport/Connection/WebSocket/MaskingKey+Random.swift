import WebSocketProtocol

extension MaskingKey {
    /// Returns a new, unpredictable key (RFC 6455 section 5.3), by a system call; `MaskingKeyBlock` gives many for one.
    static func random() -> MaskingKey { MaskingKey(rawValue: .random(in: 0...UInt32.max)) }
}
