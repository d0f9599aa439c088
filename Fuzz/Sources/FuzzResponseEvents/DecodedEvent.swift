// The decoder's side: each input is decoded with several kinds of memory behind it.

import Invariants
import ResponseEvents

/// The decoder's result for some bytes.
struct DecodedEvent {
    /// The facts about the event, or the name of the error.
    let facts: EventFacts

    /// Events that leave a value in every field that a decoder keeps.
    private static let earlierEvents = [
        #"{"type":"response.completed","response":{"id":"\u0041","status":"s","model":"m","service_tier":"t","end_turn":true,"#
            + #""error":{"code":"c","type":"t","message":"m"},"incomplete_details":{"reason":"r"},"usage":{"#
            + #""input_tokens":1,"output_tokens":2,"total_tokens":3,"input_tokens_details":{"cached_tokens":4},"#
            + #""output_tokens_details":{"reasoning_tokens":5}}},"stream_id":"s","sequence_number":6}"#,
        #"{"type":"response.output_item.done","output_index":7,"content_index":8,"summary_index":9,"delta":"d","item":"#
            + #"{"type":"function_call","id":"i","status":"s","call_id":"c","name":"n","namespace":"n","arguments":{}}}"#,
    ].map { Array($0.utf8) }

    /// Bytes that would complete a text that is cut off.
    private static let paddings: [[UInt8]] = [[0], Array("\"}],:1 ".utf8), [0xFF], Array("\\".utf8)]

    /// Decodes; ends the process when the result depends on more than the bytes.
    init(_ bytes: [UInt8]) {
        var fresh = ResponseEventDecoder()
        self.facts = Self.decode(bytes, padding: Self.paddings[0], with: &fresh)
        var used = ResponseEventDecoder()
        for padding in Self.paddings {
            for event in Self.earlierEvents { _ = Self.decode(event, padding: padding, with: &used) }
            let facts = Self.decode(bytes, padding: padding, with: &used)
            require(facts.isEqual(self.facts), "\(facts) behind another event or before \(padding), not \(self.facts)")
        }
        guard bytes.count > 0 else { return }
        self.checkSiblings(of: bytes, with: &used)
        var narrow = ResponseEventDecoder(maximumByteCount: bytes.count - 1)
        let facts = Self.decode(bytes, padding: Self.paddings[0], with: &narrow)
        require(facts.isEqual(["error": "tooLarge"]), "an event above the limit is read")
    }

    /// Decodes bytes alone and behind an event of their shape, and compares the two.
    static func checkSibling(of bytes: [UInt8]) {
        var decoder = ResponseEventDecoder()
        let alone = self.decode(bytes, padding: self.paddings[0], with: &decoder)
        var hash = bytes.withUnsafeBytes { InputHash($0) }
        _ = self.decode(self.sibling(of: bytes, &hash), padding: self.paddings[0], with: &decoder)
        let padding = self.paddings[Int(hash.next() % UInt64(self.paddings.count))]
        let again = self.decode(bytes, padding: padding, with: &decoder)
        require(again.isEqual(alone), "\(again) behind a sibling, not \(alone)")
    }

    /// Another letter or digit, most often in a value; or none, and the event is repeated.
    private static func sibling(of bytes: [UInt8], _ hash: inout InputHash) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        var sibling = bytes
        let place = Int(hash.next() % UInt64(sibling.count))
        if sibling[place] & 0x50 != 0 { sibling[place] ^= 1 << UInt8(hash.next() % 3) }
        return sibling
    }

    /// Decodes it behind events of its own shape: a delta is read by the shape of the one before.
    private func checkSiblings(of bytes: [UInt8], with decoder: inout ResponseEventDecoder) {
        var hash = bytes.withUnsafeBytes { InputHash($0) }
        for _ in 0..<4 {
            let sibling = Self.sibling(of: bytes, &hash)
            _ = Self.decode(sibling, padding: Self.paddings[0], with: &decoder)
            for _ in 0..<2 {
                let facts = Self.decode(bytes, padding: Self.paddings[0], with: &decoder)
                require(facts.isEqual(self.facts), "\(facts) behind a sibling, not \(self.facts)")
            }
        }
    }

    private static func decode(
        _ bytes: [UInt8], padding: [UInt8], with decoder: inout ResponseEventDecoder
    ) -> EventFacts {
        // Memory of exactly the promised size lets the address sanitizer see a read too far.
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: bytes.count + ResponseEventDecoder.paddingByteCount, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: bytes)
        for index in bytes.count..<memory.count { memory[index] = padding[(index - bytes.count) % padding.count] }
        do throws(ResponseEventError) {
            return EventFacts(try decoder.decode(UnsafeRawBufferPointer(rebasing: memory[..<bytes.count])))
        } catch {
            return ["error": Self.name(of: error)]
        }
    }

    private static func name(of error: ResponseEventError) -> String {
        switch error {
        case .notJSON: "notJSON"
        case .invalidUTF8: "invalidUTF8"
        case .notObject: "notObject"
        case .missingType: "missingType"
        case .invalidField(.delta): "invalidField(delta)"
        case .invalidField(.item): "invalidField(item)"
        case .invalidField(.response): "invalidField(response)"
        case .tooDeep: "tooDeep"
        case .tooLarge: "tooLarge"
        case .tooManyItems: "tooManyItems"
        case .outOfMemory: "outOfMemory"
        }
    }
}
