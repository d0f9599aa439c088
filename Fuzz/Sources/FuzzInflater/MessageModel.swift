// Compressed messages as RFC 7692 section 7.2.2 says it, each inflated whole.

import Deflate

/// The expected result of one message without a limit.
struct MessageResult: Equatable {
    /// The message, or what stands before the error.
    var output: [UInt8]
    /// The fault of the message.
    var error: DeflateError?
    /// Indicates whether there is more of it than the model holds.
    var isTooLarge = false

    /// Returns the expected result with a limit.
    func limited(to limit: Int) -> MessageResult {
        guard self.output.count > limit else { return self }
        return MessageResult(output: Array(self.output.prefix(limit)), error: .outputTooLarge(limit: limit))
    }
}

/// Inflates the messages of a connection, one after the other.
struct MessageModel {
    /// The window bits that zlib is given.
    var windowBits = 15
    /// The room for zlib's output at a time, in bytes.
    var step = OneCallZlib.capacity
    /// Indicates whether a message may refer to the ones before.
    var keepsWindow: Bool

    private var history: [UInt8] = []

    /// Begins a connection.
    init(windowBits: Int = 15, step: Int = OneCallZlib.capacity, keepsWindow: Bool) {
        self.windowBits = windowBits
        self.step = step
        self.keepsWindow = keepsWindow
    }

    /// Inflates a whole message.
    mutating func inflate(_ payload: [UInt8]) -> MessageResult {
        // RFC 7692 gives every message at least one byte; an empty payload can only be an empty message.
        guard !payload.isEmpty else { return MessageResult(output: []) }
        let result = self.inflate(payload, tail: [0x00, 0x00, 0xFF, 0xFF])
        self.history = self.keepsWindow ? (self.history + result.output).suffix(32_768) : []
        return result
    }

    /// Returns the known beginning of a message when these bytes of it have arrived.
    func beginning(_ payload: [UInt8]) -> [UInt8] {
        self.inflate(payload, tail: []).output
    }

    /// Inflates deflate streams, one after the other: one that ends does not end the message.
    private func inflate(_ payload: [UInt8], tail: [UInt8]) -> MessageResult {
        let data = payload + tail
        var result = MessageResult(output: [])
        var position = 0
        while true {
            let part = OneCallZlib.inflate(
                data[position...], windowBits: -CInt(self.windowBits), history: self.history + result.output,
                step: self.step)
            result.output += part.output
            position += part.usedByteCount
            switch part.stop {
            case .streamEnd where position == payload.count: return result
            case .streamEnd where position < data.count: continue
            case .betweenBlocks: return result
            case .streamEnd, .needsInput: result.error = .truncatedData
            case .corrupt: result.error = .corruptData
            case .tooLarge: result.isTooLarge = true
            }
            return result
        }
    }
}
