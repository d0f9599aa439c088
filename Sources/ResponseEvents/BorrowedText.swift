// Text that lies in somebody else's memory, so that an event is decoded without an allocation. Owned by nobody: it is
// valid until the decoder that returned it is used again.

/// Valid UTF-8 in memory that belongs to a decoder or to the bytes it was given.
///
/// It is valid until the next call of the decoder that returned it, and only while the bytes that were decoded are
/// unchanged. Make a `String` of what must live longer.
package struct BorrowedText {
    /// The UTF-8 code units.
    package let utf8: UnsafeBufferPointer<UInt8>

    /// Lends bytes that are known to be valid UTF-8.
    package init(validatedUTF8 utf8: UnsafeBufferPointer<UInt8>) { self.utf8 = utf8 }

    /// The number of UTF-8 code units.
    package var byteCount: Int { self.utf8.count }

    /// Whether there is no text at all.
    package var isEmpty: Bool { self.utf8.isEmpty }

    /// Whether the text is, byte for byte, this one.
    package func equals(_ other: StaticString) -> Bool {
        other.withUTF8Buffer { $0.elementsEqual(self.utf8) }
    }
}

extension String {
    /// Copies borrowed text, with at most one allocation.
    package init(_ text: BorrowedText) { self.init(decoding: text.utf8, as: UTF8.self) }
}
