// The emitted events, as the decoder of the Responses API reads it, and the order that it must have.

import Invariants
import ResponseEvents

/// The answer that the emitted events amount to; ends the process where they are out of order.
struct EmittedAnswer {
    /// An item that was announced.
    private struct Item {
        let type: String
        let callID: String?
        let name: String?
        var texts: [ResponseEvent.DeltaKind: String] = [:]
        var isDone = false
    }

    private(set) var text = ""
    private(set) var reasoning = ""
    private(set) var refusal = ""
    /// The place of the step with the end.
    private(set) var endStep: Int?
    private var hasBegun = false
    private var items: [Int: Item] = [:]
    private var byteCount = 0
    private var deltaCount = 0

    init(_ run: DecoderRun) {
        var decoder = ResponseEventDecoder()
        for (place, step) in run.steps.enumerated() {
            let before = self.deltaCount
            for event in step.events { self.take(event, at: place, of: run, &decoder) }
            require(self.endStep != nil || !self.items.values.contains { $0.isDone }, "a finished item before the end")
            if case .event(let isSurfaced) = step.meaning {
                require(isSurfaced == (self.deltaCount > before), "output that is not noted")
            }
        }
        // Kept text is emitted twice, with its escapes; each object may be an event of some words.
        let limit = 6 * run.inputByteCount + 512 * (run.objectCount + 1)
        require(self.byteCount <= limit, "\(self.byteCount) bytes of \(run.inputByteCount)")
    }

    private mutating func take(
        _ event: [UInt8], at place: Int, of run: DecoderRun, _ decoder: inout ResponseEventDecoder
    ) {
        self.byteCount += event.count
        require(self.endStep == nil, "an event behind the end")
        let words = { String(decoding: event, as: UTF8.self) }
        let padded = event + repeatElement(0, count: ResponseEventDecoder.paddingByteCount)
        padded.withUnsafeBytes { bytes in
            do throws(ResponseEventError) {
                let read = try decoder.decode(UnsafeRawBufferPointer(rebasing: bytes.prefix(event.count)))
                self.take(read.kind, at: place, of: run, words())
            } catch {
                // An item is one level deeper in an event than the block that it was.
                require(error == .tooDeep, "\(error): \(words())")
            }
        }
    }

    private mutating func take(
        _ kind: ResponseEvent.Kind, at place: Int, of run: DecoderRun, _ words: String
    ) {
        defer { self.hasBegun = true }
        switch kind {
        case .created: return require(!run.isChat || !self.hasBegun, "a second beginning")
        case .delta(let kind, let index, let part, let text): self.take(kind, index, part, String(text), words)
        case .outputItemAdded(let index, let item):
            require(self.items[index] == nil, "announced twice: \(words)")
            self.items[index] = Item(type: item.typeName, callID: item.callID, name: item.name)
        case .outputItemDone(let index, let item): self.finish(item, index, words)
        case .completed: self.endStep = place
        case .incomplete, .failed:
            require(!self.items.values.contains { $0.isDone }, "a finished item in a broken answer")
            self.endStep = place
        default: require(false, "no event of an answer: \(words)")
        }
        require(!run.isChat || self.hasBegun, "no beginning: \(words)")
    }

    private mutating func take(
        _ kind: ResponseEvent.DeltaKind, _ index: Int, _ part: Int, _ text: String, _ words: String
    ) {
        let types: [ResponseEvent.DeltaKind: String] = [
            .text: "message", .refusal: "message", .reasoningText: "reasoning", .functionArguments: "function_call",
        ]
        require(self.items[index].map { $0.type == types[kind] && !$0.isDone } ?? false, "of no item: \(words)")
        require(part == 0, "another part: \(words)")
        self.items[index]?.texts[kind, default: ""] += text
        if kind != .functionArguments { self.deltaCount += 1 }
        switch kind {
        case .text: self.text += text
        case .reasoningText: self.reasoning += text
        case .refusal: self.refusal += text
        default: break
        }
    }

    private mutating func finish(_ item: ItemSummary, _ index: Int, _ words: String) {
        guard let begun = self.items[index], !begun.isDone else {
            return require(false, "finished without a beginning: \(words)")
        }
        self.items[index]?.isDone = true
        require(begun.type == item.typeName, "another item than was announced: \(words)")
        for part in item.parts {
            // A surrogate pair that two deltas share is whole in the item alone.
            guard let delivered = begun.texts[part.kind], !delivered.unicodeScalars.contains("\u{FFFD}") else {
                continue
            }
            require(String(part.text).utf8.elementsEqual(delivered.utf8), "not \(delivered): \(words)")
        }
        guard item.kind == .functionCall else { return }
        require(begun.callID == item.callID && begun.name == item.name, "another call than was announced: \(words)")
        let arguments = item.payload ?? ""
        var reader = StrictJSON(Array(arguments.utf8))
        guard arguments.utf8.first(where: { !" \t\r\n".utf8.contains($0) }) == UInt8(ascii: "{") else { return }
        do throws(StrictJSONError) {
            _ = try reader.read()
        } catch {
            require(error == .unreadablyDeep || !reader.isAtEnd, "cut arguments: \(words)")
        }
    }
}
