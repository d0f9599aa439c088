/// A number by which a repeated event is recognised without keeping the event.
///
/// The number is a hash of 64 bits without a secret. It is compared within one process and one response only, and a
/// server that makes two of its own events collide affects only its own client.
package enum EventFingerprint {
    /// Returns the fingerprint of an event's type and content.
    ///
    /// The content should omit parts that a server may write differently when it repeats an event, such as padding.
    package static func of(type: Span<UInt8>, content: Span<UInt8>) -> UInt64 {
        self.mix(self.hash(content, seed: self.hash(type, seed: 0)), self.secrets.2)
    }

    /// Returns the fingerprint of an item's identifier, which is never 0.
    package static func of(name: Span<UInt8>) -> UInt64 { self.mix(self.hash(name, seed: 1), self.secrets.2) | 1 }

    /// Returns the fingerprint of an identifier; 0 when it is missing or empty.
    package static func of(identifier: String?) -> UInt64 {
        guard let identifier, !identifier.isEmpty else { return 0 }
        return self.of(name: Array(identifier.utf8).span)
    }

    /// Returns the fingerprint of a delta: of its text and its slot.
    ///
    /// For a text of up to sixteen bytes that is one multiplication: it is made for every delta that has a number.
    @inline(__always)
    package static func of(delta text: Span<UInt8>, in slot: ReplaySlot) -> UInt64 {
        let place =
            (UInt64(truncatingIfNeeded: slot.outputIndex) << 32)
            ^ (UInt64(truncatingIfNeeded: slot.partIndex) << 8) ^ slot.kind.fingerprint
        let count = text.count
        // Each load lies within the text.
        let (first, last): (UInt64, UInt64) = unsafe text.withUnsafeBytes { bytes in
            if count >= 8, count <= 16 {
                return unsafe (
                    bytes.loadUnaligned(as: UInt64.self),
                    bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)
                )
            }
            if count >= 4, count < 8 {
                return unsafe (
                    UInt64(bytes.loadUnaligned(as: UInt32.self)),
                    UInt64(bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
                )
            }
            guard count > 0, count < 4 else { return (0, 0) }
            // One, two or three bytes, each at least once.
            let (middle, end) = unsafe (UInt64(bytes[count >> 1]), UInt64(bytes[count - 1]))
            return unsafe (UInt64(bytes[0]) | middle << 8 | end << 16, 0)
        }
        let content = count <= 16 ? first : self.hash(text, seed: 0)
        return self.mix(content ^ self.secrets.0, last ^ place ^ (UInt64(count) << 48) ^ self.secrets.1)
    }

    /// Odd numbers without a pattern.
    private static let secrets: (UInt64, UInt64, UInt64) = (
        0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3
    )

    /// Hashes sixteen bytes a step; a multiplication of full width spreads each word over the whole state.
    private static func hash(_ bytes: Span<UInt8>, seed: UInt64) -> UInt64 {
        // The length is included, so that a byte at the end of the type differs from one at the beginning of the
        // content.
        var state = self.mix(seed ^ self.secrets.0, UInt64(bytes.count) ^ self.secrets.1)
        unsafe bytes.withUnsafeBytes { bytes in
            var offset = 0
            while bytes.count - offset >= 16 {
                // Sixteen bytes are left.
                let first = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                let second = unsafe bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
                state = self.mix(first ^ self.secrets.1, second ^ state)
                offset += 16
            }
            if bytes.count - offset >= 8 {
                // Eight bytes are left.
                let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                state = self.mix(word ^ self.secrets.0, state)
                offset += 8
            }
            var rest: UInt64 = 0
            while offset < bytes.count {
                rest = rest << 8 | UInt64(unsafe bytes[offset])
                offset += 1
            }
            state = self.mix(rest ^ self.secrets.2, state ^ self.secrets.0)
        }
        return state
    }

    private static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (high, low) = left.multipliedFullWidth(by: right)
        return high ^ low
    }
}

extension ReplaySlot.Kind {
    /// A distinct number for the kind.
    @inline(__always)
    fileprivate var fingerprint: UInt64 {
        switch self {
        case .text: 1
        case .refusal: 2
        case .reasoningSummary: 3
        case .reasoningText: 4
        case .toolCall: 5
        }
    }
}
