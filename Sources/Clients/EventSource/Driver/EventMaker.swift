import PlatformC
import ServerSentEvents

/// Copies the events of a stream, with what an event and the one before it have in common.
///
/// A value of the driver. Most events of a stream have the same type, which is a string of its own where it is longer
/// than 15 bytes: it is made once. The result is that of `ServerSentEvent.init(_:)`.
struct EventMaker {
    /// The most bytes of a type that is kept.
    static let typeByteLimit = 256

    /// The type of the newest event whose type was made, as the stream has it and as a string.
    private var typeBytes: [UInt8] = []
    private var type = ""
    /// The number of events of the newest batch that had any; the next one gets room for as many.
    var batchCount = 0

    /// Copies the bytes of an event.
    mutating func event(_ bytes: ServerSentEventBytes) -> ServerSentEvent {
        unsafe ServerSentEvent(
            type: self.type(bytes.type), data: String(decoding: bytes.data, as: UTF8.self),
            lastEventID: bytes.lastEventID.isEmpty ? "" : String(decoding: bytes.lastEventID, as: UTF8.self))
    }

    private mutating func type(_ bytes: UnsafeRawBufferPointer) -> String {
        if unsafe self.isKept(bytes) { return self.type }
        let type = unsafe String(decoding: bytes, as: UTF8.self)
        if bytes.count <= Self.typeByteLimit {
            unsafe self.typeBytes = Array(bytes)
            self.type = type
        }
        return type
    }

    private func isKept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count == self.typeBytes.count else { return false }
        return unsafe self.typeBytes.withUnsafeBytes { kept in
            guard let kept = kept.baseAddress, let start = bytes.baseAddress else { return true }
            return unsafe memcmp(kept, start, bytes.count) == 0
        }
    }
}
