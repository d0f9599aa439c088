import ChappieTransport
import Foundation
import Testing

@testable import Chappie

/// The answer of a turn as a value, and the errors of answers that are none.
@Suite struct StructuredAnswerTests {
    private struct City: Decodable, Equatable {
        let name: String
        let size: Int
        let marks: [String: UInt8]?
        let parts: [Part]?
        struct Part: Decodable, Equatable { let name: String }
    }

    private static func answer(_ events: ChappieStreamEvent...) -> StructuredAnswer {
        var answer = StructuredAnswer()
        for event in events { answer.add([event]) }
        return answer
    }

    private static func error(
        _ answer: StructuredAnswer, schema: ChappieJSONSchema? = nil
    ) -> ChappieStructuredOutputError? {
        Self.error(answer, as: City.self, schema: schema)
    }

    private static func error<Value: Decodable>(
        _ answer: StructuredAnswer, as type: Value.Type, schema: ChappieJSONSchema? = nil,
        decoder: JSONDecoder = .ofAnswers()
    ) -> ChappieStructuredOutputError? {
        do throws(ChappieStructuredOutputError) {
            let derived = try ChappieJSONSchema(of: type)
            _ = try answer.value(of: type, schema: schema ?? derived, decoder: decoder)
            return nil
        } catch {
            return error
        }
    }

    // MARK: The answer

    @Test func deltasAreTheAnswer() throws {
        let answer = Self.answer(.textDelta(#"{"name":"Os"#), .reasoningDelta("x"), .textDelta(#"lo","size":7}"#))
        #expect(
            try answer.value(of: City.self, schema: ChappieJSONSchema(of: City.self), decoder: .ofAnswers())
                == City(name: "Oslo", size: 7, marks: nil, parts: nil))
    }

    @Test func textBeforeACallIsNotTheAnswer() {
        let call = ChappieToolExecutionRequest(callID: "c", name: "t", arguments: "{}", policy: .automatic)
        let answer = Self.answer(
            .textDelta("Let me look."), .refusalDelta("no"), .toolCallRequested(call), .textDelta("{}"))
        #expect(answer.text == "{}" && answer.refusal.isEmpty)
    }

    private static func message(_ parts: String, role: String = "assistant") -> [UInt8] {
        Array(#"{"type":"message","role":"\#(role)","content":[\#(parts)]}"#.utf8)
    }

    @Test func lastMessageOfAResponseIsTheAnswer() {
        var answer = Self.answer(.textDelta(#"Let me see.{"a":1}"#))
        answer.takeLastMessage(of: [
            Self.message(#"{"type":"output_text","text":"Let me see."}"#),
            Self.message(#"{"type":"output_text","text":"{\"a\""},{"type":"output_text","text":":1}"}"#),
            Array(#"{"type":"reasoning","encrypted_content":"x"}"#.utf8),
            Self.message(#"{"type":"input_text","text":"steered"}"#, role: "user"),
        ])
        #expect(answer.text == #"{"a":1}"#)
        answer.takeLastMessage(of: [Self.message(#"{"type":"refusal","refusal":"I cannot."}"#)])
        #expect(answer.text.isEmpty && answer.refusal == "I cannot.")
    }

    @Test func responseWithoutAMessageLeavesTheDeltas() {
        var answer = Self.answer(.textDelta("{}"))
        answer.takeLastMessage(of: [
            Array(#"{"type":"reasoning"}"#.utf8), Array("x".utf8), Self.message("", role: "user"),
        ])
        #expect(answer.text == "{}")
    }

    // MARK: Errors

    @Test func refusalIsAnErrorWithoutItsWordsInPrint() {
        let error = Self.error(Self.answer(.textDelta("{}"), .refusalDelta("secret words")))
        #expect(error == .refused("secret words"))
        #expect(error?.unsafeMessage == "secret words")
        #expect(error?.tag == "structured-output.refused")
        #expect(error?.category == .validation && error?.isRetryable == false)
    }

    @Test(arguments: [
        ("", 0), ("  ", 0), ("Sorry", 0), (#"{"name":"secret"#, 15), (#"{"a":1} secret"#, 8), ("```json\n{}", 0),
        ("3 secret", 0), ("[1,", 3),
    ])
    func textThatIsNotJSONHasAnOffset(text: String, offset: Int) {
        let error = Self.error(Self.answer(.textDelta(text)))
        #expect(error == .notJSON(offset: offset))
        #expect(error?.tag == "structured-output.not-json")
        #expect(error?.category == .server && error?.isRetryable == true)
    }

    @Test(arguments: [
        (#"{"name":"secret"}"#, "size", ChappieValueMismatch.missing),
        (#"{"name":"secret","size":"secret"}"#, "size", .otherType),
        (#"{"name":null,"size":1}"#, "name", .null),
        (#"{"name":"secret","size":1,"parts":[{"name":"a"},{"name":7}]}"#, "parts[1].name", .otherType),
        (#"{"name":"secret","size":1,"marks":{"secret":"x"}}"#, "marks.*", .otherType),
        (#"{"name":"secret","size":1,"marks":{"4711":"x"}}"#, "marks.*", .otherType),
        ("[1]", "", .otherType), ("3", "", .otherType),
    ])
    func valueThatDoesNotMatchHasAPlaceWithoutContent(text: String, path: String, mismatch: ChappieValueMismatch) {
        let error = Self.error(Self.answer(.textDelta(text)))
        #expect(error == .doesNotMatch(codingPath: path, mismatch))
        #expect(error?.tag == "structured-output.mismatch")
        #expect(error?.category == .server && error?.isRetryable == true)
    }

    // MARK: Answers that fit the schema

    private struct Dated: Decodable { let when: Date }

    /// The schema allows what the type or the decoder rejects, so the server is not at fault.
    @Test func answerThatFitsTheSchemaAndIsNotDecodedIsNoFaultOfTheServer() throws {
        let range = Self.error(Self.answer(.textDelta(#"{"name":"a","size":1,"marks":{"secret":300}}"#)))
        #expect(range == .notDecodable(codingPath: "", .rejected))
        let byHand = try ChappieJSONSchema(
            parsing: #"{"type":"object","properties":{"when":{"type":"string","format":"date-time"}}}"#)
        let answer = Self.answer(.textDelta(#"{"when":"2026-01-01T00:00:00Z"}"#))
        let error = Self.error(answer, as: Dated.self, schema: byHand, decoder: JSONDecoder())
        #expect(error == .notDecodable(codingPath: "when", .otherType))
        #expect(error?.tag == "structured-output.not-decodable")
        #expect(error?.category == .validation && error?.isRetryable == false)
        #expect(error?.safeDescription.contains("the server") == false)
        #expect(error?.recoverySuggestion?.hasPrefix("Pass a decoder") == true)
    }

    @Test(arguments: [
        (#"{"when":"tomorrow"}"#, ChappieValueMismatch.rejected), (#"{"when":788918400}"#, .otherType),
        (#"{"when":null}"#, .null), ("{}", .missing),
    ])
    func dateThatIsNoneIsAFaultOfTheServer(text: String, mismatch: ChappieValueMismatch) {
        let error = Self.error(Self.answer(.textDelta(text)), as: Dated.self)
        #expect(error == .doesNotMatch(codingPath: "when", mismatch))
    }

    private struct Values: Decodable, Equatable {
        let when: Date
        let id: UUID
        let link: URL
        let price: Decimal
        let bytes: Data
    }

    @Test(arguments: ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.000Z"])
    func valuesOfFoundationAreDecodedAsTheirSchemaSays(date: String) throws {
        let id = "6F1D3C1E-3F0A-4C1B-9A55-0D2F5C6B7A80"
        let answer = Self.answer(
            .textDelta(#"{"when":"\#(date)","id":"\#(id)","link":"https://example.org/a","price":0.1,"bytes":"aGk="}"#))
        let schema = try ChappieJSONSchema(of: Values.self)
        let expected = Values(
            when: Date(timeIntervalSince1970: 1_767_225_600), id: try #require(UUID(uuidString: id)),
            link: try #require(URL(string: "https://example.org/a")), price: try #require(Decimal(string: "0.1")),
            bytes: Data("hi".utf8))
        #expect(try answer.value(of: Values.self, schema: schema, decoder: .ofAnswers()) == expected)
    }

    /// No printed form has a part of an answer.
    @Test func printedErrorsHaveNoContent() {
        let errors: [ChappieStructuredOutputError] = [
            .refused("secret words"), .incomplete(ChappieResponse(id: "secret", status: "incomplete")),
            .notJSON(offset: 3), .doesNotMatch(codingPath: "a.*", .rejected),
            .noSchema(codingPath: "a[0]", type: "T", .recursive), .notDecodable(codingPath: "a.*", .rejected),
        ]
        for error in errors {
            var dumped = ""
            dump(error, to: &dumped)
            for words in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
                #expect(!words.contains("secret"), "\(words)")
            }
            #expect("\(error)" == "\(error.tag): \(error.safeDescription)")
            #expect(error.safeDescription == "\(error.failureReason ?? "") \(error.recoverySuggestion ?? "")")
        }
        #expect(errors.map(\.isRetryable) == [false, false, true, true, false, false])
        #expect(Set(errors.map(\.tag)).count == errors.count)
        for obstacle in ChappieSchemaObstacle.allCases {
            let error = ChappieStructuredOutputError.noSchema(codingPath: "", type: "T", obstacle)
            #expect(error.safeDescription.hasPrefix("The schema of T cannot be derived: "))
        }
        for mismatch in ChappieValueMismatch.allCases {
            let error = ChappieStructuredOutputError.doesNotMatch(codingPath: "", mismatch)
            #expect(error.safeDescription.hasPrefix("The answer does not match the type: the value "))
        }
    }

    @Test func schemaHasTheNameOfTheType() {
        #expect(ChappieClient.schemaName(of: City.self) == "City")
        #expect(ChappieClient.schemaName(of: [String: Int].self) == "Dictionary_String__Int_")
        #expect(ChappieClient.schemaName(of: City?.self) == "Optional_City_")
    }
}
