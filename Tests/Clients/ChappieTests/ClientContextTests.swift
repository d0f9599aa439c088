import Foundation
import Testing

@testable import Chappie

/// Contexts as bytes, and bytes that are not contexts.
@Suite struct ClientContextTests {
    private static let context = ChappieClientContext(
        id: "c", itemTexts: [Array(#"{"type":"message","n":9007199254740993,"é":"\ud83d"}"#.utf8), Array("{}".utf8)])

    @Test func aContextComesBackByteForByte() throws {
        let data = try Self.context.data()
        #expect(try ChappieClientContext(data: data) == Self.context)
        #expect(
            try JSONDecoder().decode(ChappieClientContext.self, from: JSONEncoder().encode(Self.context))
                == Self.context)
        #expect(ChappieJSONValue(jsonText: String(decoding: data, as: UTF8.self))?["version"] == 2)
    }

    @Test func newContextIsEmptyAndHasItsOwnIdentifier() {
        #expect(ChappieClientContext().isEmpty)
        #expect(ChappieClientContext().id != ChappieClientContext().id)
    }

    @Test(arguments: [0, 3, -1, 99])
    func anotherVersionIsAClearError(version: Int) throws {
        let text = #"{"version":\#(version),"id":"c","items":[],"more":true}"#
        #expect(throws: ChappieContextError.unsupportedVersion(version)) {
            try ChappieClientContext(data: Data(text.utf8))
        }
        #expect(ChappieContextError.unsupportedVersion(version).localizedDescription.contains("version \(version)"))
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}", #"{"version":"1"}"#, #"{"version":1}"#, #"{"version":1,"id":"c"}"#,
        #"{"version":1,"id":"c","items":[{}]}"#, #"{"version":1,"id":"c","items":["{"]}"#,
        #"{"version":2,"id":"c","items":[3]}"#, #"{"version":2,"id":"c","items":["{"]}"#, #"{"version":2,"items":[]}"#,
        #"{"version":2,"id":"c","items":[{"a":tru}]}"#, #"{"version":2,"id":"c","items":[],"attachments":[]}"#,
        #"{"version":2,"id":"c","items":[{"image_url":"attachment:1"}]}"#, #"{"version":1,"id":"c","items":["3"]}"#,
        #"{"version":1,"id":3,"items":[]}"#, "\u{FFFD}",
    ])
    func aDamagedContextIsAClearError(_ text: String) {
        #expect(throws: ChappieContextError.damaged) { try ChappieClientContext(data: Data(text.utf8)) }
    }

    @Test func aContextThatWasCutIsAClearError() throws {
        let data = try Self.context.data()
        for count in 0..<data.count {
            #expect(throws: ChappieContextError.damaged) { try ChappieClientContext(data: data.prefix(count)) }
        }
        #expect(ChappieContextError.damaged.localizedDescription.hasSuffix("."))
    }

    // MARK: The saved form

    private static let picture = "data:image/png;base64,iVBORw0KGgo="

    private static let conversation = ChappieClientContext(
        id: "c",
        itemTexts: [
            ChappieInputMessage.user([.text("What is \"it\"?"), .image(url: Self.picture)]).json,
            Array(
                #"{"type":"function_call_output","call_id":"a","output":[{"image_url":"\#(Self.picture)","x":1.50}]}"#
                    .utf8),
            Array(#"{"type":"image_generation_call","id":"g","result":"aGk="}"#.utf8),
            ChappieInputMessage.user([.image(url: "https://example.org/a.png"), .image(url: "attachment:9")]).json,
        ])

    /// Items are JSON and not text, and a picture stands once behind them.
    @Test func savedConversationIsReadableAndHasItsPicturesApart() throws {
        let text = String(decoding: try Self.conversation.data(), as: UTF8.self)
        let lines = text.split(separator: "\n")
        #expect(lines.first == #"{"version":2,"id":"c","items":["#)
        #expect(
            lines[1] == #"{"type":"message","role":"user","content":[{"type":"input_text","text":"What is \"it\"?"},"#
                + #"{"type":"input_image","image_url":"attachment:1"}]},"#)
        #expect(text.components(separatedBy: Self.picture).count == 2)
        let saved = try #require(ChappieJSONValue(jsonText: text))
        #expect(saved["attachments"] == .object(["1": .string(Self.picture), "2": "aGk=", "3": "attachment:9"]))
        #expect(saved["items"]?[1]?["output"]?[0]?["image_url"] == "attachment:1")
        #expect(saved["items"]?[3]?["content"]?[0]?["image_url"] == "https://example.org/a.png")
        #expect(try ChappieClientContext(data: Data(text.utf8)) == Self.conversation)
    }

    /// Inside of a program's own value the items are values too, but for one that the coders would change.
    @Test func codersReadAndWriteTheSavedForm() throws {
        let data = try JSONEncoder().encode(["chat": Self.conversation])
        let items = try #require(ChappieJSONValue(jsonText: String(decoding: data, as: UTF8.self))?["chat"]?["items"])
        #expect(items.array?.allSatisfy { $0.object != nil } == true)
        let read = try #require(try JSONDecoder().decode([String: ChappieClientContext].self, from: data)["chat"])
        #expect(read.history.map(\.json) == Self.conversation.history.map(\.json))
        let byData = try JSONDecoder().decode(ChappieClientContext.self, from: Self.conversation.data())
        #expect(byData.history.map(\.json) == Self.conversation.history.map(\.json))
    }

    @Test func contextOfTheFirstVersionIsRead() throws {
        let text = #"{"id":"c","items":["{\"type\":\"message\",\"n\":9007199254740993}","{}"],"version":1}"#
        let expected = ChappieClientContext(
            id: "c", itemTexts: [Array(#"{"type":"message","n":9007199254740993}"#.utf8), Array("{}".utf8)])
        #expect(try ChappieClientContext(data: Data(text.utf8)) == expected)
        #expect(try JSONDecoder().decode(ChappieClientContext.self, from: Data(text.utf8)) == expected)
    }
}
