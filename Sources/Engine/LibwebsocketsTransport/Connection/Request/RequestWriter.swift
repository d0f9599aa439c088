/// The request of an exchange: whether it is held, and what is left of it to write.
///
/// It belongs to the service thread.
struct RequestWriter {
    private var upload: RequestUpload?
    /// Indicates whether the request waits for its release.
    private var isHeld: Bool

    /// Creates a writer that has no request yet.
    init(isHeld: Bool) { self.isHeld = isHeld }

    /// Indicates whether there are bytes to write, or to be taken by the socket.
    var hasMore: Bool { self.upload != nil && !self.isHeld }

    /// Indicates whether every byte was moved out.
    var isComplete: Bool { self.upload?.isComplete ?? true }

    /// The number of bytes of the body that were moved out.
    var bodyByteCount: Int { self.upload?.bodyByteCount ?? 0 }

    /// Begins with the first byte of the head.
    mutating func begin(_ upload: RequestUpload) { self.upload = upload }

    /// Releases a held request, also before it begins.
    mutating func release() { self.isHeld = false }

    /// Moves the next bytes into a buffer; returns their number.
    mutating func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Int { self.upload?.fill(buffer) ?? 0 }

    /// Ends the request, which is written or no longer read.
    mutating func end() { self.upload = nil }
}
