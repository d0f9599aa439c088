import PlatformC

/// A way in which a text writes some of its bytes as escapes, all of which begin with the same byte.
///
/// The functions are pure, and their time is linear.
protocol TextEscapes {
    /// The byte that escapes begin with.
    static var beginning: UInt8 { get }

    /// Returns whether an escape may begin at the byte before `index`, which is `beginning`.
    static func mayBegin(before index: Int, in bytes: UnsafeRawBufferPointer) -> Bool

    /// Calls `body` with each byte of the text without escapes, and the position at which it begins.
    static func walk(_ bytes: UnsafeRawBufferPointer, _ body: (UInt8, Int) -> Void)
}

extension TextEscapes {
    /// Returns the places, in the text as it is written, of the ranges that `find` returns for the text without escapes;
    /// none for a text that has no escapes.
    static func places(
        in bytes: UnsafeRawBufferPointer, by find: (UnsafeRawBufferPointer) -> [Range<Int>]
    ) -> [Range<Int>] {
        guard unsafe Self.areIn(bytes) else { return [] }
        var plain: [UInt8] = []
        plain.reserveCapacity(bytes.count)
        unsafe Self.walk(bytes) { byte, _ in plain.append(byte) }
        let places = unsafe plain.withUnsafeBytes(find)
        guard !places.isEmpty else { return [] }
        var starts: [Int] = []
        starts.reserveCapacity(plain.count + 1)
        unsafe Self.walk(bytes) { _, start in starts.append(start) }
        starts.append(bytes.count)
        return places.map { starts[$0.lowerBound]..<starts[$0.upperBound] }
    }

    private static func areIn(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        var index = 0
        while index < bytes.count,
            let found = unsafe memchr(base + index, CInt(Self.beginning), bytes.count - index)
        {
            index = unsafe UnsafeRawPointer(found) - base + 1
            if unsafe Self.mayBegin(before: index, in: bytes) { return true }
        }
        return false
    }
}
