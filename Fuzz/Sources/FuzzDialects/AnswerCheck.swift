// The slow reader of an answer, and the comparison. It shares no code with the product.

import Invariants

/// A reader of one API's events that keeps nothing but texts.
protocol AnswerModel {
    var text: String { get }
    var reasoning: String { get }
    var refusal: String { get }
    /// Indicates whether the server stated the end of a whole answer.
    var hasStatedEnd: Bool { get }

    /// Reads an event; returns whether it is surely one of the API.
    mutating func read(_ event: ModelEvent) -> Bool
}

/// An event's data as plain values.
struct ModelEvent {
    let type: [UInt8]
    let root: JSONNode
    let bytes: [UInt8]

    /// Returns whether a value is a text that is written so, without escapes.
    ///
    /// Words of an API are compared as they are written.
    func isWord(_ node: JSONNode?, _ word: String) -> Bool {
        guard let node, node.text != nil else { return false }
        return self.bytes[node.range].dropFirst().dropLast().elementsEqual(word.utf8)
    }

    /// Returns a text as it is written between its quotes.
    func content(of node: JSONNode) -> [UInt8] { Array(self.bytes[node.range].dropFirst().dropLast()) }

    /// Returns the text that is written so between quotes.
    static func text(ofContent content: [UInt8]) -> String {
        var reader = StrictJSON(Array("\"".utf8) + content + Array("\"".utf8))
        return (try? reader.read())?.text ?? ""
    }

    /// Returns an integer, which may be written as a text.
    func integer(_ node: JSONNode) -> Int? {
        let written = self.bytes[node.range]
        let digits = node.isNumber ? written : written.dropFirst().dropLast()
        guard node.isNumber || node.text != nil, digits.count <= 20 else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}

/// Compares what was emitted with what the slow reader adds up.
///
/// Names of members with escapes, which no server writes, are not known to the decoders; such an answer is not compared.
struct AnswerCheck {
    private let answer: ServerAnswer
    private let run: DecoderRun

    init(_ answer: ServerAnswer, _ run: DecoderRun) {
        self.answer = answer
        self.run = run
    }

    func compare(with emitted: EmittedAnswer) {
        var model: any AnswerModel = self.answer.isChat ? ChatModel() : MessagesModel()
        for (place, (event, step)) in zip(self.answer.events, self.run.steps).enumerated() {
            if let end = emitted.endStep, end < place { break }
            var reader = StrictJSON(event.data)
            let root: JSONNode
            do throws(StrictJSONError) {
                root = try reader.read()
            } catch {
                if error == .unreadablyDeep { return }
                let isMark = String(decoding: event.data, as: UTF8.self).contains("[DONE]")
                switch step.meaning {
                case .other, .error: continue
                case .end where isMark: continue
                default: return require(false, "no JSON is read as \(step.meaning)")
                }
            }
            if reader.hasEscapedNames { return }
            switch step.meaning {
            case .event, .end: _ = model.read(ModelEvent(type: event.type, root: root, bytes: event.data))
            case .other, .otherAPI:
                let isKnown = model.read(ModelEvent(type: event.type, root: root, bytes: event.data))
                return require(
                    !isKnown, "an event of the API is not read: \(String(decoding: event.data, as: UTF8.self))")
            case .error, .bodyEnd: return
            }
        }
        let pairs = [
            (emitted.text, model.text), (emitted.reasoning, model.reasoning), (emitted.refusal, model.refusal),
        ]
        for (found, expected) in pairs {
            require(found.utf8.elementsEqual(expected.utf8), "\"\(found)\", and not \"\(expected)\"")
        }
        require(emitted.endStep == nil || model.hasStatedEnd, "an end that the server did not state")
    }
}
