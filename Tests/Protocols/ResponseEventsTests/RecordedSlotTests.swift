// Recorded streams: what the deltas of a slot give together, what closes the slot, and what the items hold.

import Foundation
import Testing

@testable import ResponseEvents

@Suite struct RecordedSlotTests {
    /// A slot of a response.
    private struct Slot: Hashable {
        var outputIndex: Int
        var kind: ResponseEvent.DeltaKind
        var partIndex: Int
    }

    /// A difference between a closing event and the slot's deltas.
    enum Difference: String {
        /// The event has a text of a slot that had no delta.
        case withoutDeltas
        /// The event has another text than the deltas.
        case otherText
        /// The item has no text of a slot that had deltas.
        case missingPart
        /// The event names another item than the deltas.
        case otherItem
        /// The item is another one than that of the last event about its place.
        case changedItem
    }

    /// The places where a server's events contradict each other, by recording: the type of the event, the slot, the
    /// difference.
    static let knownDifferences: [String: Set<String>] = [
        "agent-wire-proxy-no-deltas.1": [
            "output_item.done 1 text 0 withoutDeltas", "completed 1 text 0 withoutDeltas",
        ],
        "lmstudio-tool-call.1": [
            "function_call_arguments.done 2 functionArguments 0 withoutDeltas",
            "output_item.done 2 functionArguments 0 withoutDeltas", "completed 2 functionArguments 0 withoutDeltas",
        ],
        "openai-image-generation-tool.1": [
            "output_text.done 2 text 0 withoutDeltas", "content_part.done 2 text 0 withoutDeltas",
            "output_item.done 2 text 0 withoutDeltas", "completed 2 text 0 withoutDeltas",
        ],
        "openai-shell-container.1": [
            "output_text.done 2 text 0 otherText", "content_part.done 2 text 0 otherText",
            "output_item.done 2 text 0 otherText", "completed 2 text 0 otherText",
        ],
        "transformers-repeated-item.1": [
            "function_call_arguments.done 1 functionArguments 0 withoutDeltas",
            "output_item.done 1 functionArguments 0 withoutDeltas", "completed 1 functionArguments 0 withoutDeltas",
            "function_call_arguments.done 2 functionArguments 0 withoutDeltas",
            "output_item.done 2 functionArguments 0 withoutDeltas",
            "output_text.done 2 text 0 withoutDeltas", "content_part.done 2 text 0 withoutDeltas",
            "output_item.done 2 text 0 withoutDeltas", "completed 2 changedItem",
        ],
    ]

    /// The differences that a recording has.
    private struct Reading {
        var texts: [Slot: String] = [:]
        var itemIDs: [Slot: String] = [:]
        var items: [Int: String?] = [:]
        var differences: Set<String> = []
        var closingCount = 0

        mutating func read(_ event: ResponseEvent) {
            let type = String(event.typeName).replacing(/^response\./, with: "")
            switch event.kind {
            case .delta(let kind, let outputIndex, let partIndex, let text):
                let slot = Slot(outputIndex: outputIndex, kind: kind, partIndex: partIndex)
                self.texts[slot, default: ""] += String(text)
                if let itemID = event.itemID.map({ String($0) }) {
                    if self.itemIDs[slot, default: itemID] != itemID { self.note(type, slot, .otherItem) }
                    self.itemIDs[slot] = itemID
                }
            case .partDone(let kind, let outputIndex, let partIndex, let text):
                let slot = Slot(outputIndex: outputIndex, kind: kind, partIndex: partIndex)
                self.closingCount += 1
                self.compare(String(text), slot, type)
                if let known = self.itemIDs[slot], known != event.itemID.map({ String($0) }) {
                    self.note(type, slot, .otherItem)
                }
            case .outputItemDone(let outputIndex, let item):
                self.compare(item, at: outputIndex, type)
                self.items[outputIndex] = item.id
            case .completed(let response), .failed(let response), .incomplete(let response):
                for (outputIndex, item) in response.output.enumerated() {
                    guard let known = self.items[outputIndex], known == item.id else {
                        self.differences.insert("\(type) \(outputIndex) \(Difference.changedItem)")
                        continue
                    }
                    self.compare(item, at: outputIndex, type)
                }
            default:
                break
            }
        }

        private mutating func compare(_ item: ItemSummary, at outputIndex: Int, _ type: String) {
            var slots: Set<Slot> = []
            for part in item.parts {
                let slot = Slot(outputIndex: outputIndex, kind: part.kind, partIndex: part.index)
                slots.insert(slot)
                self.compare(String(part.text), slot, type)
            }
            for slot in self.texts.keys where slot.outputIndex == outputIndex {
                if !slots.contains(slot) { self.note(type, slot, .missingPart) }
                if let known = self.itemIDs[slot], known != item.id { self.note(type, slot, .otherItem) }
            }
        }

        private mutating func compare(_ text: String, _ slot: Slot, _ type: String) {
            guard let known = self.texts[slot] else { return self.note(type, slot, .withoutDeltas) }
            if !known.utf8.elementsEqual(text.utf8) { self.note(type, slot, .otherText) }
        }

        private mutating func note(_ type: String, _ slot: Slot, _ difference: Difference) {
            self.differences.insert("\(type) \(slot.outputIndex) \(slot.kind) \(slot.partIndex) \(difference)")
        }
    }

    @Test(arguments: SharedData.recordings)
    func closingEventsAndItemsRepeatTheDeltas(file: URL) throws {
        var decoder = ResponseEventDecoder()
        var reading = Reading()
        for line in try SharedData.lines(of: file) {
            try withPadded(line) { bytes in reading.read(try decoder.decode(bytes)) }
        }
        let name = file.deletingPathExtension().lastPathComponent
        #expect(reading.differences == Self.knownDifferences[name, default: []])
    }

    @Test func recordingsHaveClosingEvents() throws {
        var count = 0
        for file in SharedData.recordings {
            var decoder = ResponseEventDecoder()
            var reading = Reading()
            for line in try SharedData.lines(of: file) {
                try withPadded(line) { bytes in reading.read(try decoder.decode(bytes)) }
            }
            count += reading.closingCount
        }
        #expect(SharedData.recordings.isEmpty || count == 47)
    }
}
