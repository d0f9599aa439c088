// The sentences of the scripted model.
//
// Pure: the same seed gives the same text.

/// Generates prose in many scripts, so that cuts fall inside every kind of character.
enum ScriptedText {
    private static let openings = [
        "The harbour wakes before the city does.", "Naïve façades façonnées — voilà, déjà vu.",
        "Über den Dächern liegt früher Nebel; Größe täuscht.", "Сначала тишина, потом чайки.",
        "朝の港は静かで、船がゆっくり出ていきます。", "清晨的渡轮驶过雾气弥漫的海湾。", "안개가 걷히면 산이 보입니다.",
        "Ελαφρύς άνεμος από βορρά.", "صباح هادئ على الرصيف.", "A family 👨‍👩‍👧‍👦 waits by the ferry with two dogs 🐕🐕‍🦺.",
        "Flags 🇳🇴🇯🇵 hang above the crew 👩🏽‍🚀👨🏿‍🍳.", "Combining marks stay whole: e\u{301}, n\u{303}, o\u{308}\u{304}, क्षि.",
        "Numbers matter: 21 °C, 5.5 m/s, 1 013 hPa.", "Quotes \"inside\" quotes, a back\\slash and a\ttab.",
        "Plain words carry most of the text, as they do in life.", "Each line is short so that it can be cut.",
    ]

    /// Returns text of at least `byteCount` bytes of UTF-8, cut at the end of a sentence.
    static func prose(seed: UInt64, byteCount: Int) -> String {
        var random = RandomSequence(seed: seed, stream: 1)
        var text = ""
        var length = 0
        var sentenceCount = 0
        while length < byteCount {
            let separator = sentenceCount == 0 ? "" : sentenceCount % 5 == 0 ? "\n\n" : " "
            let sentence = separator + Self.openings[random.below(Self.openings.count)]
            text += sentence
            length += sentence.utf8.count
            sentenceCount += 1
        }
        return text
    }

    /// Splits text between scalars into pieces of 1 to `maximum` scalars.
    ///
    /// Pieces end inside grapheme clusters on purpose, as tokens do.
    static func pieces(of text: String, random: inout RandomSequence, maximum: Int) -> [String] {
        var pieces: [String] = []
        var piece = String.UnicodeScalarView()
        var remaining = 1 + random.below(max(1, maximum))
        for scalar in text.unicodeScalars {
            piece.append(scalar)
            remaining -= 1
            guard remaining == 0 else { continue }
            pieces.append(String(piece))
            piece = String.UnicodeScalarView()
            remaining = 1 + random.below(max(1, maximum))
        }
        if !piece.isEmpty { pieces.append(String(piece)) }
        return pieces
    }

    /// Returns the text with its end replaced from the scalar at `offset`, so that it surely differs there.
    static func diverging(_ text: String, from offset: Int, with replacement: String?) -> String {
        let scalars = Array(text.unicodeScalars)
        let kept = scalars.prefix(max(0, offset))
        let original = kept.count < scalars.count ? scalars[kept.count] : nil
        let fallback = original == "≠" ? "≢" : "≠ and then something else entirely."
        var result = String.UnicodeScalarView(kept)
        result.append(contentsOf: (replacement ?? fallback).unicodeScalars)
        return String(result)
    }
}
