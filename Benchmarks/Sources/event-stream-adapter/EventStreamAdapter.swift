// Runs the parser behind a protocol of lines, so that a conformance checker in any language can drive it.
//
// One line in, one line out, flushed. In: a name, and the chunks of one stream in hexadecimal, separated by spaces; `-`
// is an empty chunk. A fresh parser is fed the chunks in order, then the stream ends. Out: the name, and in order
//
//     e:TYPE:DATA:ID:COUNT    an event that was dispatched: three byte strings in hexadecimal, and the number of bytes
//                             of the stream that the parser had been given by then
//     r:NUMBER                a reconnection time that was set
//     x:MESSAGE               an error, in hexadecimal
//     l:ID                    the last event ID at the end of the stream, in hexadecimal

import ServerSentEvents

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The command, which answers lines until its input ends.
@main
struct EventStreamAdapter {
    static func main() {
        while var line = readLine() {
            let answer = line.withUTF8 { self.answer(to: UnsafeRawBufferPointer($0)) }
            print(String(decoding: answer, as: UTF8.self))
            fflush(nil)
        }
    }

    /// Parses the stream of one line.
    private static func answer(to line: UnsafeRawBufferPointer) -> [UInt8] {
        let words = line.split { $0 == 0x20 || $0 == 0x0D }
        guard let name = words.first else { return [] }
        var answer = HexadecimalWriter(Array(name))
        var parser = EventStreamParser()
        var byteCount = 0
        do throws(EventStreamError) {
            for word in words.dropFirst() {
                let chunk = Self.bytes(word)
                byteCount += chunk.count
                try Self.parse(chunk, with: &parser, &answer, byteCount)
            }
        } catch {
            answer.add("x", [Array("\(error)".utf8)])
        }
        _ = parser.finish()
        answer.add("l", [Array(parser.lastEventID.utf8)])
        return answer.bytes
    }

    private static func parse(
        _ chunk: [UInt8], with parser: inout EventStreamParser, _ answer: inout HexadecimalWriter, _ byteCount: Int
    ) throws(EventStreamError) {
        let result: Result<Void, EventStreamError> = chunk.withUnsafeBytes { bytes in
            do throws(EventStreamError) {
                try parser.parse(bytes) { item in
                    switch item {
                    case .event(let event):
                        answer.add("e", [event.type, event.data, event.lastEventID], byteCount)
                    case .reconnectionTime(let milliseconds): answer.add("r", [] as [[UInt8]], milliseconds)
                    case .comment: break
                    }
                }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// The bytes of a word in hexadecimal.
    private static func bytes(_ word: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        guard word.count % 2 == 0 else { return [] }
        let digits = UnsafeRawBufferPointer(rebasing: word)
        return [UInt8](unsafeUninitializedCapacity: digits.count / 2) { bytes, initialized in
            for index in 0..<digits.count / 2 {
                let value = self.digit(digits[2 * index]) << 4 | self.digit(digits[2 * index + 1])
                bytes.initializeElement(at: index, to: value)
            }
            initialized = digits.count / 2
        }
    }

    private static func digit(_ character: UInt8) -> UInt8 {
        character <= 0x39 ? character & 0x0F : (character & 0x0F) + 9
    }
}

/// A line of items, each with a letter, byte strings in hexadecimal, and a number.
struct HexadecimalWriter {
    private static let digits = Array("0123456789abcdef".utf8)

    /// The line so far.
    private(set) var bytes: [UInt8]

    /// A line that begins with a word.
    init(_ word: [UInt8]) {
        self.bytes = word
    }

    /// Adds an item.
    mutating func add(_ letter: String, _ values: [some Sequence<UInt8>], _ number: Int? = nil) {
        self.bytes.append(0x20)
        self.bytes.append(contentsOf: letter.utf8)
        for value in values {
            self.bytes.append(0x3A)
            for byte in value {
                self.bytes.append(Self.digits[Int(byte >> 4)])
                self.bytes.append(Self.digits[Int(byte & 0x0F)])
            }
        }
        guard let number else { return }
        self.bytes.append(0x3A)
        self.bytes.append(contentsOf: String(number).utf8)
    }
}
