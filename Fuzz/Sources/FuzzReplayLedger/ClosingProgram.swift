// Closing events of a program: what has come, as it was or changed in a place.

import StreamSession

extension LedgerProgram {
    /// Pieces of text that servers change in the end, and some that only look like them.
    private static let phrases = [
        "", " ", "\n", ".", "a", "\u{E9}", "😀", "\u{FFFD}", "\u{FFFD}\u{FFFD}", "【1†a】", "【", "†", "】", "[1]", "[x]",
        "[12345]", "\u{E200}x\u{E201}", "\u{E200}", "\u{E201}", ". ", "\u{3011}b",
    ]

    mutating func phrase() -> String {
        let byte = self.byte()
        // About as long as a mark can be.
        return byte < 250 ? Self.phrases[byte % Self.phrases.count] : String(repeating: "m", count: byte + 251)
    }

    /// Returns the operations of a code from 208 on.
    ///
    /// A large model takes long to compare, and finds no more faults than a small one.
    mutating func closing(_ code: UInt8, for model: LedgerModel) -> [LedgerOperation] {
        guard model.channels.allSatisfy({ $0.delivered.count < 2_048 }) else { return [] }
        guard code < 252 else { return self.late(code, for: model) }
        switch code % 8 {
        case 0, 1: return self.closeSlot(of: model)
        case 2, 3: return self.closeKind(of: model)
        case 4: return [.close(self.slot(), Array(self.phrase().utf8))]
        case 5:
            let kinds: [ItemKind] = [.message, .reasoning, .call, .other]
            return [.beginItem(self.index(), of: kinds[self.byte() % kinds.count])]
        case 6: return [.delta(self.slot(), Array(self.phrase().utf8))]
        // More of the newest slot, so that its middle can be changed.
        default:
            guard let newest = model.texts(of: self.kind()).last else { return [] }
            return [.delta(newest.slot, Array(self.phrase().utf8))]
        }
    }

    private mutating func kind() -> ReplaySlot.Kind {
        let kinds = ReplaySlot.Kind.allCases
        return kinds[self.byte() % kinds.count]
    }

    private mutating func closeSlot(of model: LedgerModel) -> [LedgerOperation] {
        let texts = model.texts(of: self.kind())
        guard !texts.isEmpty else { return [] }
        let (slot, bytes) = texts[self.byte() % texts.count]
        return [.close(slot, self.changed(bytes))]
    }

    /// Returns a delta behind a closing text: what the text has brought, in part or changed, or any other.
    private mutating func late(_ code: UInt8, for model: LedgerModel) -> [LedgerOperation] {
        let texts = model.texts(of: self.kind())
        guard !texts.isEmpty else { return [] }
        let slot = texts[self.byte() % texts.count].slot
        var text = Array(String(decoding: model.suppliedRest(of: slot), as: UTF8.self).unicodeScalars)
        if code % 2 == 0 { text = Array(text.prefix(1 + self.byte())) }
        let bytes = Array(String(String.UnicodeScalarView(text)).utf8)
        let delta = code == 255 || bytes.isEmpty ? self.changed(bytes) : bytes
        return delta.isEmpty ? [] : [.late(slot, delta)]
    }

    private mutating func closeKind(of model: LedgerModel) -> [LedgerOperation] {
        let kind = self.kind()
        var texts = model.texts(of: kind).prefix(20).map { ($0.slot, $0.bytes) }
        let choice = self.byte()
        if choice % 4 == 0 {
            var next = texts.last?.0 ?? ReplaySlot(kind, outputIndex: 0, partIndex: 0)
            next = ReplaySlot(kind, outputIndex: next.outputIndex, partIndex: next.partIndex &+ 1)
            texts.append((next, Array(self.phrase().utf8)))
        } else if choice % 4 == 1, texts.count > 1 {
            texts.removeLast()
        }
        guard !texts.isEmpty else { return [] }
        let index = choice / 4 % texts.count
        texts[index].1 = self.changed(texts[index].1)
        return [.closeKind(kind, texts)]
    }

    /// A text with a change, or without.
    private mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
        var text = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
        let place = text.isEmpty ? 0 : self.byte() % text.count
        let choice = self.byte()
        switch choice % 7 {
        case 0: text += self.phrase().unicodeScalars
        case 1: text.removeSubrange(place...)
        case 2: text.insert(contentsOf: self.phrase().unicodeScalars, at: place)
        case 3 where !text.isEmpty: text.replaceSubrange(place...place, with: self.phrase().unicodeScalars)
        case 4 where text.count > 1:
            text.replaceSubrange(place..<min(text.count, place + 2), with: self.phrase().unicodeScalars)
        default: break
        }
        return Array(String(String.UnicodeScalarView(text)).utf8)
    }
}
