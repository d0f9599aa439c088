import ChappieTransport
import Foundation
import Testing

@testable import Chappie

/// The schemas of types: of those that are covered, and the obstacles of the others.
@Suite struct SchemaDerivationTests {
    // MARK: Covered types

    private enum Color: String, Decodable, CaseIterable { case red, green }
    private enum Level: UInt8, Decodable, CaseIterable { case low = 1, high = 255 }

    private struct Name: RawRepresentable, Decodable { let rawValue: String }

    private struct Meters: Decodable {
        let value: Double
        init(from decoder: any Decoder) throws {
            self.value = try decoder.singleValueContainer().decode(Double.self)
        }
    }

    private class Animal: Decodable { let legs: Int }

    private final class Bird: Animal {
        let wings: Int
        private enum CodingKeys: CodingKey { case wings }
        required init(from decoder: any Decoder) throws {
            self.wings = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .wings)
            try super.init(from: decoder)
        }
    }

    private struct ByHand: Decodable {
        private enum CodingKeys: CodingKey { case inner, list, parent }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let inner = try container.nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
            _ = try inner.decodeIfPresent(Bool.self, forKey: .list)
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            while !list.isAtEnd { _ = try list.decode(Int.self) }
            _ = try Animal(from: container.superDecoder(forKey: .parent))
        }
    }

    private struct Plain: Decodable {
        let text: String
        let integer: Int
        let small: UInt8
        let number: Double
        let float: Float
        let flag: Bool
        let url: URL
        let decimal: Decimal
    }

    private struct Optionals: Decodable {
        let text: String?
        let list: [Int?]?
        let color: Color?
        let nested: Single?
        let twice: Int??
    }

    private struct Single: Decodable { let a: Int }

    private struct Lists: Decodable {
        let texts: [String]
        let matrix: [[Double]]
        let set: Set<Int>
        let nested: [Single]
    }

    private struct Enumerations: Decodable {
        let color: Color
        let level: Level
    }

    private struct Wrappers: Decodable {
        let name: Name
        let meters: Meters
    }

    private struct Renamed: Decodable {
        let isOpen: Bool
        let next: Int
        private enum CodingKeys: String, CodingKey {
            case isOpen = "is_open"
            case next
        }
    }

    private struct Maps: Decodable { let byName: [String: Single] }

    private struct Dated: Decodable { let date: Date }
    private struct Blob: Decodable { let items: [[String: Data]] }

    private struct Foundations: Decodable {
        let id: UUID
        let date: Date?
        let data: Data
    }

    private struct Described: Decodable, ChappieDescribed {
        let isOpen: Bool
        let next: Single?
        let dates: [Date]
        static let memberDescriptions = [
            "is_open": "Whether it is \"open\"", "next": "The next one", "dates": "The days",
        ]
        private enum CodingKeys: String, CodingKey {
            case isOpen = "is_open"
            case next, dates
        }
    }

    private struct Misdescribed: Decodable, ChappieDescribed {
        let isOpen: Bool
        static let memberDescriptions = ["isopen": "…"]
    }
    private struct Nothing: Decodable {}

    private static func object(_ members: String..., required: String) -> String {
        #"{"type":"object","properties":{\#(members.joined(separator: ","))},"required":[\#(required)],"#
            + #""additionalProperties":false}"#
    }

    private static let single = object(#""a":{"type":"integer"}"#, required: #""a""#)

    private static func text(_ type: (some Decodable).Type) throws -> String {
        try ChappieJSONSchema(of: type).jsonText
    }

    @Test func membersHaveTheTypesOfTheirPropertiesInOrder() throws {
        #expect(
            try Self.text(Plain.self)
                == Self.object(
                    #""text":{"type":"string"}"#, #""integer":{"type":"integer"}"#, #""small":{"type":"integer"}"#,
                    #""number":{"type":"number"}"#, #""float":{"type":"number"}"#, #""flag":{"type":"boolean"}"#,
                    #""url":{"type":"string"}"#, #""decimal":{"type":"number"}"#,
                    required: #""text","integer","small","number","float","flag","url","decimal""#))
    }

    @Test func optionalsAreRequiredAndMayBeNull() throws {
        #expect(
            try Self.text(Optionals.self)
                == Self.object(
                    #""text":{"type":["string","null"]}"#,
                    #""list":{"type":["array","null"],"items":{"type":["integer","null"]}}"#,
                    #""color":{"type":["string","null"],"enum":["red","green",null]}"#,
                    #""nested":{"anyOf":[\#(Self.single),{"type":"null"}]}"#, #""twice":{"type":["integer","null"]}"#,
                    required: #""text","list","color","nested","twice""#))
    }

    @Test func arraysAndSetsAreLists() throws {
        #expect(
            try Self.text(Lists.self)
                == Self.object(
                    #""texts":{"type":"array","items":{"type":"string"}}"#,
                    #""matrix":{"type":"array","items":{"type":"array","items":{"type":"number"}}}"#,
                    #""set":{"type":"array","items":{"type":"integer"}}"#,
                    #""nested":{"type":"array","items":\#(Self.single)}"#,
                    required: #""texts","matrix","set","nested""#))
    }

    @Test func enumerationsHaveTheirRawValues() throws {
        #expect(
            try Self.text(Enumerations.self)
                == Self.object(
                    #""color":{"type":"string","enum":["red","green"]}"#,
                    #""level":{"type":"integer","enum":[1,255]}"#, required: #""color","level""#))
    }

    @Test func typeThatDecodesOneValueHasItsSchema() throws {
        #expect(
            try Self.text(Wrappers.self)
                == Self.object(
                    #""name":{"type":"string"}"#, #""meters":{"type":"number"}"#, required: #""name","meters""#))
    }

    @Test func membersAreNamedByTheirKeys() throws {
        #expect(
            try Self.text(Renamed.self)
                == Self.object(
                    #""is_open":{"type":"boolean"}"#, #""next":{"type":"integer"}"#, required: #""is_open","next""#))
    }

    @Test func inheritedPropertiesAreInTheSameObjectSchema() throws {
        #expect(
            try Self.text(Bird.self)
                == Self.object(
                    #""wings":{"type":"integer"}"#, #""legs":{"type":"integer"}"#, required: #""wings","legs""#))
    }

    @Test func nestedContainersAreNestedSchemas() throws {
        let inner = Self.object(#""list":{"type":["boolean","null"]}"#, required: #""list""#)
        let parent = Self.object(#""legs":{"type":"integer"}"#, required: #""legs""#)
        #expect(
            try Self.text(ByHand.self)
                == Self.object(
                    #""inner":\#(inner)"#, #""list":{"type":"array","items":{"type":"integer"}}"#,
                    #""parent":\#(parent)"#, required: #""inner","list","parent""#))
    }

    @Test func typeWithoutMembersIsAnEmptyObject() throws {
        #expect(try Self.text(Nothing.self) == Self.object(required: ""))
    }

    @Test func dictionaryIsAnOpenObject() throws {
        let schema = try ChappieJSONSchema(of: Maps.self)
        #expect(
            schema.json["properties"]?["byName"]?["additionalProperties"] == ChappieJSONValue(jsonText: Self.single))
        #expect(!schema.closesObjects)
        #expect(try !ChappieJSONSchema(of: [String: Int].self).closesObjects)
        #expect(try ChappieJSONSchema(of: Optionals.self).closesObjects)
        #expect(try ChappieJSONSchema(of: ByHand.self).closesObjects)
    }

    @Test func datesIdentifiersAndBytesAreTextsWithAFormat() throws {
        #expect(
            try Self.text(Foundations.self)
                == Self.object(
                    #""id":{"type":"string","format":"uuid"}"#,
                    #""date":{"type":["string","null"],"format":"date-time"}"#,
                    #""data":{"type":"string","description":"Bytes in Base64 (RFC 4648 section 4)"}"#,
                    required: #""id","date","data""#))
        #expect(try ChappieJSONSchema(of: Foundations.self).closesObjects)
    }

    @Test func datesAndBytesHaveTheFormOfTheDecodersStrategies() throws {
        func property(_ configure: (JSONDecoder) -> Void) throws -> ChappieJSONValue? {
            let decoder = JSONDecoder()
            configure(decoder)
            return try ChappieJSONSchema(of: Dated.self, decoder: decoder).json["properties"]?["date"]
        }
        #expect(try property { $0.dateDecodingStrategy = .iso8601 } == ["type": "string", "format": "date-time"])
        #expect(
            try property { $0.dateDecodingStrategy = .secondsSince1970 }
                == ["type": "number", "description": "Seconds since 1970-01-01T00:00:00Z"])
        #expect(try property { $0.dateDecodingStrategy = .millisecondsSince1970 }?["type"] == "number")
        #expect(
            try property { _ in } == ["type": "number", "description": "Seconds since 2001-01-01T00:00:00Z"])
        #expect(throws: ChappieStructuredOutputError.noSchema(codingPath: "date", type: "Date", .ambiguousForm)) {
            try property { $0.dateDecodingStrategy = .custom { _ in Date() } }
        }
        let decoder = JSONDecoder()
        decoder.dataDecodingStrategy = .deferredToData
        let items = try ChappieJSONSchema(of: Blob.self, decoder: decoder).json["properties"]?["items"]?["items"]
        #expect(items?["additionalProperties"]?["items"] == ["type": "integer"])
        decoder.dataDecodingStrategy = .custom { _ in Data() }
        #expect(throws: ChappieStructuredOutputError.noSchema(codingPath: "items[0].*", type: "Data", .ambiguousForm)) {
            try ChappieJSONSchema(of: Blob.self, decoder: decoder)
        }
    }

    @Test func membersHaveTheDescriptionsOfTheirType() throws {
        #expect(
            try Self.text(Described.self)
                == Self.object(
                    #""is_open":{"type":"boolean","description":"Whether it is \"open\""}"#,
                    #""next":{"anyOf":[\#(Self.single),{"type":"null"}],"description":"The next one"}"#,
                    #""dates":{"type":"array","items":{"type":"string","format":"date-time"},"description":"The days"}"#,
                    required: #""is_open","next","dates""#))
    }

    // MARK: Obstacles

    private final class Node: Decodable { let next: Node? }
    private struct Tree: Decodable { let children: [Tree] }
    private struct Outer: Decodable { let inner: Misdescribed }
    private enum Unknown: String, Decodable { case a }
    private struct Undetermined: Decodable { let list: [Unknown] }
    private enum Payload: Decodable { case a(Int), b }
    private struct Sum: Decodable { let payload: Payload }
    private struct Interval: Decodable { let range: Range<Int> }
    private struct Numbered: Decodable { let byNumber: [Int: String] }

    private enum Lenient: String, Decodable, CaseIterable {
        case a, b
        init(from _: any Decoder) throws { self = .a }
    }
    private struct Forgiving: Decodable { let lenient: Lenient }

    private struct Either: Decodable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if (try? container.decode(Int.self)) == nil { _ = try container.decode(String.self) }
        }
    }
    private struct Choice: Decodable { let either: Either }
    private struct Free: Decodable { let value: ChappieJSONValue }

    private struct Positive: Decodable {
        private enum CodingKeys: CodingKey { case x }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard try container.decode(Int.self, forKey: .x) > 0 else {
                throw DecodingError.dataCorruptedError(forKey: .x, in: container, debugDescription: "secret")
            }
        }
    }

    /// Its own code catches the error, which counts all the same.
    private struct Swallowing: Decodable {
        private enum CodingKeys: CodingKey { case a }
        init(from decoder: any Decoder) throws {
            _ = try? decoder.container(keyedBy: CodingKeys.self).decode(Unknown.self, forKey: .a)
        }
    }

    /// It nests decoders without asking for another type.
    private struct Bottomless: Decodable {
        private enum CodingKeys: CodingKey { case a }
        init(from decoder: any Decoder) throws {
            _ = try Bottomless(from: decoder.container(keyedBy: CodingKeys.self).superDecoder(forKey: .a))
        }
    }

    private struct Both: Decodable {
        private enum CodingKeys: CodingKey { case a }
        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .a)
            _ = try decoder.unkeyedContainer()
        }
    }

    private struct Asking: Decodable {
        private enum CodingKeys: CodingKey { case a }
        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: CodingKeys.self).decodeNil(forKey: .a)
        }
    }

    /// It leaves out elements that it cannot decode.
    private struct Lossy: Decodable {
        private enum CodingKeys: CodingKey { case list }
        init(from decoder: any Decoder) throws {
            var list = try decoder.container(keyedBy: CodingKeys.self).nestedUnkeyedContainer(forKey: .list)
            while !list.isAtEnd {
                if (try? list.decode(Unknown.self)) == nil { _ = try? list.decode(Nothing.self) }
            }
        }
    }

    /// Its raw value is that of the recording decoder.
    private enum Grade: Int, Decodable { case low }
    private struct Graded: Decodable { let grade: Grade }

    private struct Shape: Decodable {
        private enum Kind: String, Decodable, CaseIterable { case circle, square }
        private enum CodingKeys: CodingKey { case kind, radius, side }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            switch try container.decode(Kind.self, forKey: .kind) {
            case .circle: _ = try container.decode(Double.self, forKey: .radius)
            case .square: _ = try container.decode(Double.self, forKey: .side)
            }
        }
    }

    private struct Flagged: Decodable {
        private enum CodingKeys: CodingKey { case isOpen, since }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard try container.decode(Bool.self, forKey: .isOpen) else { return }
            _ = try container.decode(String.self, forKey: .since)
        }
    }

    private struct Fallback: Decodable {
        private enum CodingKeys: CodingKey { case a, b }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard try container.decodeIfPresent(Int.self, forKey: .a) == nil else { return }
            _ = try container.decode(Int.self, forKey: .b)
        }
    }

    private struct Present: Decodable {
        private enum CodingKeys: CodingKey { case a, b }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            _ = try container.decode(Int.self, forKey: container.contains(.a) ? .a : .b)
        }
    }

    private struct ObjectOrText: Decodable {
        init(from decoder: any Decoder) throws {
            if let container = try? decoder.container(keyedBy: SchemaKey.self) {
                _ = try container.decode(Int.self, forKey: SchemaKey("a"))
            } else {
                _ = try decoder.singleValueContainer().decode(String.self)
            }
        }
    }

    private struct Addressed: Decodable { let address: URLComponents }

    private struct Box<Value: Decodable>: Decodable { let value: Value }
    private typealias Four<Value: Decodable> = Box<Box<Box<Box<Value>>>>
    private typealias Wide<Value: Decodable> = Pair<Pair<Pair<Pair<Pair<Value>>>>>

    private struct Pair<Value: Decodable>: Decodable {
        let a: Value
        let b: Value
        let c: Value
        let d: Value
    }

    private static func obstacle(_ type: (some Decodable).Type) -> ChappieStructuredOutputError? {
        do throws(ChappieStructuredOutputError) {
            _ = try ChappieJSONSchema(of: type)
            return nil
        } catch {
            return error
        }
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        let path: String
        let type: String
        let obstacle: ChappieSchemaObstacle
        let error: @Sendable () -> ChappieStructuredOutputError?

        init(
            _ path: String, _ type: String, _ obstacle: ChappieSchemaObstacle,
            _ outermost: (some Decodable & SendableMetatype).Type
        ) {
            (self.path, self.type, self.obstacle) = (path, type, obstacle)
            self.error = { SchemaDerivationTests.obstacle(outermost) }
        }

        var testDescription: String { "\(self.type) at \(self.path)" }
    }

    private static let rows: [Row] = [
        Row("next", "Node", .recursive, Node.self), Row("children[0]", "Tree", .recursive, Tree.self),
        Row("", "Misdescribed", .unknownMember, Misdescribed.self),
        Row("inner", "Misdescribed", .unknownMember, Outer.self),
        Row("list[0]", "Unknown", .rejectsValues, Undetermined.self),
        Row("payload", "Payload", .openMembers, Sum.self), Row("range", "Range<Int>", .fixedLength, Interval.self),
        Row("byNumber", "Dictionary<Int, String>", .openMembers, Numbered.self),
        Row("lenient", "Lenient", .rejectsValues, Forgiving.self), Row("either", "Either", .severalForms, Choice.self),
        Row("value", "ChappieJSONValue", .severalForms, Free.self), Row("", "Positive", .rejectsValues, Positive.self),
        Row("a", "Unknown", .rejectsValues, Swallowing.self), Row("", "Both", .severalForms, Both.self),
        Row("a", "Asking", .severalForms, Asking.self), Row("", "Array<Int>", .notObject, [Int].self),
        Row("list[0]", "Unknown", .rejectsValues, Lossy.self), Row("grade", "Grade", .rejectsValues, Graded.self),
        Row("", "Shape", .severalForms, Shape.self), Row("", "Flagged", .severalForms, Flagged.self),
        Row("", "Fallback", .severalForms, Fallback.self), Row("", "Present", .severalForms, Present.self),
        Row("", "ObjectOrText", .severalForms, ObjectOrText.self),
        Row("address", "URLComponents", .rejectsValues, Addressed.self),
        Row("", "String", .notObject, String.self), Row("", "Color", .notObject, Color.self),
        Row("", "Optional<Plain>", .notObject, Plain?.self),
    ]

    @Test(arguments: Self.rows)
    private func obstacleIsNamedWithItsPlace(row: Row) {
        let error = row.error()
        #expect(error == .noSchema(codingPath: row.path, type: row.type, row.obstacle))
        #expect(error?.tag == "structured-output.no-schema")
        #expect(error?.category == .validation && error?.isRetryable == false)
        let words = error?.localizedDescription ?? ""
        let advice = row.obstacle == .unknownMember ? "remove its description" : "ChappieJSONSchema(parsing:)"
        #expect(words.contains(row.type) && words.contains(advice))
        #expect(!words.contains("secret"))
    }

    @Test func depthAndSizeAreLimited() {
        func obstacle(_ error: ChappieStructuredOutputError?) -> ChappieSchemaObstacle? {
            guard case .noSchema(_, _, let obstacle)? = error else { return nil }
            return obstacle
        }
        #expect(obstacle(Self.obstacle(Four<Four<Four<Four<Four<Four<Four<Int>>>>>>>.self)) == nil)
        #expect(obstacle(Self.obstacle(Four<Four<Four<Four<Four<Four<Four<Four<Int>>>>>>>>.self)) == .tooDeep)
        #expect(obstacle(Self.obstacle(Bottomless.self)) == .tooDeep)
        #expect(obstacle(Self.obstacle(Wide<Int>.self)) == nil)
        #expect(obstacle(Self.obstacle(Wide<Pair<Pair<Int>>>.self)) == .tooLarge)
    }

    // MARK: Schemas by hand

    @Test func schemaByHandIsSentAsItIsWritten() throws {
        let text = #"{ "type":"object", "properties":{"z":{}, "a":{}} }"#
        #expect(try ChappieJSONSchema(parsing: text).jsonText == text)
        #expect(try ChappieJSONSchema(["type": "object", "a": 1]).jsonText == #"{"a":1,"type":"object"}"#)
    }

    @Test(arguments: [
        (#"{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}"#, true),
        (#"{"type":"object","properties":{"a":{}},"required":[],"additionalProperties":false}"#, false),
        (#"{"type":"object","properties":{"a":{}},"required":["a"]}"#, false),
        (
            #"{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}"#,
            false
        ),
        (#"{"anyOf":[{"properties":{"a":{}}}]}"#, false), (#"{"$defs":{"a":{"type":"object"}}}"#, false),
        (#"{"type":"array","items":{"type":"object"}}"#, false), (#"{"type":"array","items":{"type":"string"}}"#, true),
        (#"{"enum":[{"type":"object"}]}"#, true), (#"{"type":["object","null"]}"#, false),
        (#"{"not":{"type":"object"}}"#, false), (#"{"patternProperties":{"a":{"type":"object"}}}"#, false),
    ])
    func schemaClosesObjects(text: String, isClosed: Bool) throws {
        #expect(try ChappieJSONSchema(parsing: text).closesObjects == isClosed)
    }
}
