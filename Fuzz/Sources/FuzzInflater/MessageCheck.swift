// Holds the inflater of compressed messages against zlib.

import Deflate
import Invariants
import WebSocketProtocol

/// The messages of one connection, and what was agreed about them.
struct MessageCheck {
    private let agreement: PerMessageDeflateAgreement
    private let windowBits: Int
    private let payloads: [[UInt8]]

    /// Takes the settings from the input, and the messages from its rest.
    init(_ reader: inout InputReader) {
        self.windowBits = 8 + reader.choice(of: 8)
        let settings = reader.byte()
        self.agreement = Self.agreement(windowBits: self.windowBits, keepsWindow: settings & 1 == 0)
        var messages: [[UInt8]] = []
        for _ in 0..<Int(settings >> 1 & 3) { messages.append(Array(reader.bytes(reader.short() & 1_023))) }
        messages.append(Array(reader.rest))
        self.payloads = settings & 8 == 0 ? messages : Self.compress(messages, self.agreement, damage: settings >> 4)
    }

    /// Inflates the messages in pieces of all kinds, with limits around what they need; otherwise once, with one limit.
    func run(_ random: inout InputHash, isDeep: Bool) {
        guard let models = self.results() else { return }
        let largest = models.lenient.map(\.output.count).max() ?? 0
        guard isDeep else {
            let limit = [1 << 26, largest, max(0, largest - 1)][Int.random(in: 0..<3, using: &random)]
            guard Bool.random(using: &random) else { return self.runWhole(limit: limit, models, &random) }
            return self.run(limit: limit, longest: 41, models, &random)
        }
        for limit in [1 << 26, largest, largest - 1, Int.random(in: 0...300, using: &random)] where limit >= 0 {
            for longest in [Int.max, 1, 40] { self.run(limit: limit, longest: longest, models, &random) }
            self.runWhole(limit: limit, models, &random)
        }
    }

    /// The results of a reader with a window of 32 KiB, and of one with the agreed window.
    private struct Results {
        var lenient: [MessageResult]
        var strict: [MessageResult]
    }

    /// Nil when there is more than the model holds.
    private func results() -> Results? {
        let keepsWindow = !self.agreement.serverNoContextTakeover
        var lenient = MessageModel(keepsWindow: keepsWindow)
        // With room for one byte, zlib can copy only from its window.
        var strict = MessageModel(windowBits: max(9, self.windowBits), step: 1, keepsWindow: keepsWindow)
        var results = Results(lenient: [], strict: [])
        for payload in self.payloads {
            let result = lenient.inflate(payload)
            if result.isTooLarge || self.windowBits < 15 && result.output.count > 10_000 { return nil }
            results.lenient.append(result)
            results.strict.append(self.windowBits < 15 ? strict.inflate(payload) : result)
        }
        return results
    }

    private func run(limit: Int, longest: Int, _ models: Results, _ random: inout InputHash) {
        let inflater = MessageInflater(agreement: self.agreement, limit: limit)
        var model = MessageModel(keepsWindow: !self.agreement.serverNoContextTakeover)
        for (index, payload) in self.payloads.enumerated() {
            let known = self.windowBits == 15 && longest == 40 ? model : nil
            let result = Self.inflate(payload, inflater, limit: limit, longest: longest, known: known, &random)
            let expected = models.lenient[index].limited(to: limit)
            let isTooFar = models.strict[index] != models.lenient[index]
            let isRefused = isTooFar && Self.isRefusal(result, of: models.lenient[index], models.strict[index])
            require(
                result == expected || isRefused,
                "message \(index), pieces up to \(longest), limit \(limit): \(result), and not \(expected)")
            // An inflater that has failed is of no more use.
            if result.error != nil { return }
            _ = model.inflate(payload)
        }
    }

    /// Inflates each message in one call, into memory that it fills exactly or nearly.
    private func runWhole(limit: Int, _ models: Results, _ random: inout InputHash) {
        let inflater = MessageInflater(agreement: self.agreement, limit: limit)
        for (index, payload) in self.payloads.enumerated() {
            let lenient = models.lenient[index]
            let capacity = max(0, lenient.output.count + Int.random(in: -1...1, using: &random))
            let result = Self.inflateWhole(payload, inflater, into: PaddedBuffer(capacity: capacity))
            let expected = lenient.limited(to: limit)
            let isRefused = models.strict[index] != lenient && Self.isRefusal(result, of: lenient, models.strict[index])
            // Where the stream ends inside the tail (RFC 7692 section 7.2.2), one decoder reports `truncatedData` and
            // the other `corruptData`.
            let isSameDamage =
                [result.error, expected.error].allSatisfy { $0 == .corruptData || $0 == .truncatedData }
                && result.output == expected.output
            require(
                result == expected || isRefused || isSameDamage,
                "whole message \(index), capacity \(capacity), limit \(limit): \(result), and not \(expected)")
            if result.error != nil { return }
        }
    }

    private static func inflateWhole(
        _ payload: [UInt8], _ inflater: MessageInflater, into output: PaddedBuffer
    ) -> MessageResult {
        // Room for the tail, and no byte more.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: payload.count + 4, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: payload + [1, 2, 3, 4])
        do throws(DeflateError) {
            try inflater.inflateWhole(.init(rebasing: memory.dropLast(4)), into: output)
        } catch {
            return MessageResult(output: Array(output.bytes), error: error)
        }
        require(memory.suffix(4).elementsEqual([1, 2, 3, 4]), "the bytes behind the message have changed")
        return MessageResult(output: Array(output.bytes))
    }

    /// Returns whether a distance past the agreed window was refused: zlib knows the output of the current call besides
    /// it, so that the pieces decide which of two such distances it notices first, if any.
    private static func isRefusal(
        _ result: MessageResult, of lenient: MessageResult, _ strict: MessageResult
    ) -> Bool {
        result.error == .corruptData && lenient.output.starts(with: result.output)
            && result.output.count >= strict.output.count
    }

    /// Inflates a message in pieces, and looks at what there is after each.
    private static func inflate(
        _ payload: [UInt8], _ inflater: MessageInflater, limit: Int, longest: Int, known model: MessageModel?,
        _ random: inout InputHash
    ) -> MessageResult {
        let output = PaddedBuffer()
        var taken: [UInt8] = []
        var position = 0
        let observed = Int.random(in: 0...max(0, payload.count), using: &random)
        repeat {
            let end = position + min(payload.count - position, Int.random(in: 1...longest, using: &random))
            let isLast = end == payload.count && Bool.random(using: &random)
            do throws(DeflateError) {
                try ExactCopy.lend(payload[position..<end]) { piece throws(DeflateError) in
                    try inflater.inflate(piece, isLast: isLast, into: output)
                }
            } catch {
                return Self.fail(error, taken + output.bytes, inflater)
            }
            let passed = position...end ~= observed
            position = end
            if let model, passed, !isLast {
                let known = Array(model.beginning(Array(payload[..<end])).prefix(limit))
                require(taken + output.bytes == known, "\(output.count) bytes are there, and \(known.count) are known")
            }
            MemoryReading.read(UnsafeRawBufferPointer(start: output.bytes.baseAddress, count: output.count + 64))
            // Whether the caller takes the output away must not matter.
            if Bool.random(using: &random) {
                taken += output.bytes
                output.removeAll()
            }
            require(taken.count + output.count <= limit, "the limit is passed")
            // A window that is still needed must not go.
            if Bool.random(using: &random) { inflater.releaseWindow() }
            if isLast { break }
        } while true
        return MessageResult(output: taken + output.bytes)
    }

    private static func fail(_ error: DeflateError, _ output: [UInt8], _ inflater: MessageInflater) -> MessageResult {
        let more = PaddedBuffer()
        do throws(DeflateError) {
            try ExactCopy.lend([0x00]) { piece throws(DeflateError) in
                try inflater.inflate(piece, isLast: true, into: more)
            }
            breakInvariant("an error is forgotten")
        } catch let second {
            require(second == error && more.count == 0, "an error does not change")
        }
        return MessageResult(output: output, error: error)
    }

    private static func compress(
        _ messages: [[UInt8]], _ agreement: PerMessageDeflateAgreement, damage: UInt8
    ) -> [[UInt8]] {
        guard let deflater = try? MessageDeflater(agreement: agreement) else { return messages }
        var payloads: [[UInt8]] = []
        for message in messages {
            let output = PaddedBuffer()
            ExactCopy.lend(message[...]) { deflater.deflate($0, into: output) }
            payloads.append(Array(output.bytes))
        }
        var model = MessageModel(keepsWindow: !agreement.clientNoContextTakeover)
        let inflated = payloads.map { model.inflate($0) }
        require(inflated == messages.map { MessageResult(output: $0) }, "what was compressed is something else")
        // One byte of the first message becomes another; often that is the length or the code of a block.
        if damage > 0, let count = payloads.first?.count { payloads[0][Int(damage) % count] ^= 1 << (damage & 7) }
        return payloads
    }

    private static func agreement(windowBits: Int, keepsWindow: Bool) -> PerMessageDeflateAgreement {
        let bits = ["server_max_window_bits", "client_max_window_bits"].map { "; \($0)=\(windowBits)" }.joined()
        let takeover = "; server_no_context_takeover; client_no_context_takeover"
        let answer = "permessage-deflate\(bits)\(keepsWindow ? "" : takeover)"
        guard let extensions = try? ExtensionListParser.parse(answer),
            let agreement = try? PerMessageDeflateAgreement(extensions, offer: PerMessageDeflateOffer())
        else { breakInvariant("there is no agreement on \(answer)") }
        return agreement
    }
}
