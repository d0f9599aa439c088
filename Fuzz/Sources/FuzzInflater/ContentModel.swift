// The content of a response as RFC 9110 section 8.4.1 says it, each coding undone whole.

import Deflate

/// The expected result of content.
struct ContentResult: Equatable {
    /// The content, or what stands before the error.
    var output: [UInt8]
    /// The fault of the bytes that arrived.
    var error: DeflateError?
    /// Indicates whether it may end here.
    var isComplete = false
    /// Indicates whether there is more of it than the model holds.
    var isTooLarge = false
}

/// A content coding, and how zlib undoes it.
enum ContentCoding {
    case gzip
    case deflate

    /// Undoes the coding of all bytes that arrived.
    func decode(_ input: [UInt8]) -> ContentResult {
        switch self {
        case .gzip: Self.decodeMembers(input)
        case .deflate:
            // RFC 9110 section 8.4.1.2: some send deflate data without the zlib format around them.
            Self.decodeStream(input, windowBits: input.first.map { $0 & 0x8F == 0x08 } ?? true ? 15 : -15)
        }
    }

    private static func decodeStream(_ input: [UInt8], windowBits: CInt) -> ContentResult {
        let part = OneCallZlib.inflate(input[...], windowBits: windowBits)
        var result = ContentResult(output: part.output)
        switch part.stop {
        case .streamEnd:
            result.isComplete = part.usedByteCount == input.count
            result.error = result.isComplete ? nil : .trailingData
        case .betweenBlocks, .needsInput: break
        case .corrupt: result.error = .corruptData
        case .tooLarge: result.isTooLarge = true
        }
        return result
    }

    /// RFC 1952 section 2.2: a file is a series of members.
    private static func decodeMembers(_ input: [UInt8]) -> ContentResult {
        var result = ContentResult(output: [])
        var position = 0
        repeat {
            let part = OneCallZlib.inflate(input[position...], windowBits: 15 + 16)
            result.output += part.output
            position += part.usedByteCount
            switch part.stop {
            case .streamEnd where position < input.count: continue
            case .streamEnd: result.isComplete = true
            case .betweenBlocks, .needsInput: break
            case .corrupt: result.error = .corruptData
            case .tooLarge: result.isTooLarge = true
            }
            return result
        } while true
    }

    /// Compresses.
    func encode(_ input: [UInt8], level: Int, isRaw: Bool) -> [UInt8] {
        switch self {
        case .gzip: OneCallZlib.deflate(input[...], windowBits: 15 + 16, level: level)
        case .deflate: OneCallZlib.deflate(input[...], windowBits: isRaw ? -15 : 15, level: level)
        }
    }
}
