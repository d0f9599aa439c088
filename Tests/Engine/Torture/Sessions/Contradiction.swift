// A response whose closing events differ from its deltas.
//
// Pure: lines and a number in, lines out.
import Foundation

/// The ways in which a closing text contradicts the deltas of its part.
enum Contradiction: CaseIterable {
    /// One letter is another one.
    case otherLetter
    /// A text in the middle that was in no delta.
    case inserted
    /// A piece is missing in the middle.
    case missing
    /// The end is missing.
    case shorter
    /// Another text.
    case other

    /// The events that say it.
    enum Place: CaseIterable {
        /// The end of the text.
        case text
        /// The end of the part, where there is such an event.
        case part
        /// The end of the item.
        case item
        /// The end of the response.
        case response
        /// All of these.
        case everywhere

        fileprivate func contains(_ type: String) -> Bool {
            switch self {
            case .text: type.hasSuffix("text.done") || type == "response.refusal.done"
            case .part: type == "response.content_part.done"
            case .item: type == "response.output_item.done"
            case .response: type == "response.completed"
            case .everywhere: true
            }
        }
    }

    /// The number of contradicting answers of each session.
    static let variantCount = 15

    /// The closing text in the place of `text`; nil for one without letters.
    func text(for text: String, using random: inout RandomNumbers) -> String? {
        var scalars = Array(text.unicodeScalars)
        // What is changed is no white space, no mark and no full stop, which servers change themselves.
        let letters = scalars.indices.filter { scalars[$0].isASCII && scalars[$0].properties.isAlphabetic }
        guard letters.count > 2, let letter = letters.dropFirst().dropLast().randomElement(using: &random) else {
            return nil
        }
        switch self {
        case .otherLetter: scalars[letter] = "§"
        case .inserted: scalars.insert(contentsOf: "inserted".unicodeScalars, at: letter)
        case .missing: scalars.remove(at: letter)
        case .shorter: scalars.removeSubrange(letter...)
        case .other: return "Something else."
        }
        return String(String.UnicodeScalarView(scalars))
    }
}

extension ResponseRewriting {
    /// Lets closing events contradict the deltas of one part, where there is a part with letters.
    mutating func contradict(variant: Int) {
        let place = Contradiction.Place.allCases[variant % Contradiction.Place.allCases.count]
        let way = Contradiction.allCases.randomElement(using: &self.random) ?? .other
        for part in self.places(Divergence.outputTypes).shuffled(using: &self.random) {
            let text = self.text(at: part)
            guard let other = way.text(for: text, using: &self.random) else { continue }
            var isChanged = false
            for index in self.events.indices {
                let event = self.events[index]
                guard let type = event["type"] as? String, event["delta"] == nil, place.contains(type) else { continue }
                let changed = JSONText.mapping(event) { name, value in
                    ["text", "refusal"].contains(name) && value == text ? other : value
                }
                guard let changed = changed as? [String: Any], !NSDictionary(dictionary: changed).isEqual(to: event)
                else { continue }
                self.events[index] = changed
                isChanged = true
            }
            if isChanged { return }
        }
    }
}
