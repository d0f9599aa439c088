// Every public initialiser and property of the client that takes text, with texts that cannot work.

import ChappieTransport
import Foundation
import Testing

@testable import Chappie

/// A text that cannot work, and the words of its refusal.
struct RefusedText<Input: Sendable>: Sendable, CustomTestStringConvertible {
    let name: String
    let input: Input
    /// The argument and the reason.
    let words: String

    init(_ name: String, _ words: String, _ input: Input) {
        self.name = name
        self.words = words
        self.input = input
    }

    var testDescription: String { self.name }
}

@Suite struct TextArgumentTests {
    typealias Making = @Sendable () throws -> Void
    typealias RequestChange = @Sendable (inout ChappieResponseRequest) -> Void
    typealias ConfigurationChange = @Sendable (inout ChappieConfiguration) -> Void

    private static let control = "has a line break or another control character"
    private static let urlControl = "has a space, a line break or another control character"
    private static let nameBytes = "has characters other than A–Z a–z 0–9 _ -"

    // MARK: Initialisers that throw

    private struct Measure: Encodable {
        var values = ["a": [1, Double.infinity]]
    }

    private static let empty = ChappieJSONValue.object([:])

    private static let initialisers: [RefusedText<Making>] = [
        .init("body, a text", "bodyJSON is empty") { _ = try ChappieResponseRequest(bodyJSON: "") },
        .init("body, another value", "bodyJSON is not a JSON object: another value begins at offset 0") {
            _ = try ChappieResponseRequest(bodyJSON: "null")
        },
        .init("body, not JSON", "bodyJSON has a byte at offset 5 that JSON does not allow there") {
            _ = try ChappieResponseRequest(bodyJSON: #"{"a":x}"#)
        },
        .init("body, data", "bodyJSON is not UTF-8") {
            _ = try ChappieResponseRequest(bodyJSON: Data(Array(#"{"a":""#.utf8) + [0xFF] + Array(#""}"#.utf8)))
        },
        .init("body, a value", "body is encoded as another JSON value than an object") {
            _ = try ChappieResponseRequest(encoding: [1, 2])
        },
        .init("body, a value without JSON", "body has a value at values.*[1] that JSON cannot represent") {
            _ = try ChappieResponseRequest(encoding: Measure())
        },
        .init("JSON, empty", "text is empty") { _ = try ChappieJSONValue(parsing: " ") },
        .init("JSON, cut", "text ends at offset 3, inside its JSON value") { _ = try ChappieJSONValue(parsing: "[1,") },
        .init("JSON, NUL", "text has a byte at offset 0 that JSON does not allow there") {
            _ = try ChappieJSONValue(parsing: "\u{0}")
        },
        .init("JSON, two objects", "text has more text behind its JSON value, at offset 3") {
            _ = try ChappieJSONValue(parsing: "{} {}")
        },
        .init("JSON, two numbers", "text has more text behind its JSON value, or a number that is too large") {
            _ = try ChappieJSONValue(parsing: "1 2")
        },
        .init("JSON, too large", "text has a number that is too large, or nests deeper than 511 levels") {
            _ = try ChappieJSONValue(parsing: #"{"a":1e999}"#)
        },
        .init("schema, a text", "text is not a JSON object: another value begins at offset 0") {
            _ = try ChappieJSONSchema(parsing: #""object""#)
        },
        .init("schema, cut", "text ends at offset 1, inside its JSON object") {
            _ = try ChappieJSONSchema(parsing: "{")
        },
        .init("schema, a value", "value is not a JSON object") { _ = try ChappieJSONSchema(true) },
        .init("schema, a number", "value has a number that is not finite, which JSON does not have") {
            _ = try ChappieJSONSchema(["a": [.number(.nan)]])
        },
        .init("format, no name", "name is empty") {
            _ = try ChappieTextFormat.jsonSchema(name: "", schema: try ChappieJSONSchema(Self.empty))
        },
        .init("format, a name with a space", "name \(Self.nameBytes)") {
            _ = try ChappieTextFormat.jsonSchema(name: "a b", schema: try ChappieJSONSchema(Self.empty))
        },
        .init("format, a long name", "name is longer than 64 characters") {
            let name = String(repeating: "a", count: 65)
            _ = try ChappieTextFormat.jsonSchema(name: name, schema: try ChappieJSONSchema(Self.empty))
        },
        .init("picture, no type", "mediaType is not a media type such as image/png") {
            _ = try ChappieContentPart.image(data: [1], mediaType: "png")
        },
        .init("picture, parameters", "mediaType is not a media type such as image/png") {
            _ = try ChappieContentPart.image(data: [1], mediaType: "image/png;base64,AA\r\n")
        },
        .init("picture, no bytes", "data is empty") {
            _ = try ChappieContentPart.image(data: [], mediaType: "image/png")
        },
        .init("file, no name", "name is empty") {
            _ = try ChappieContentPart.file(name: "", data: [1], mediaType: "text/plain")
        },
        .init("file, a line break", "name \(Self.control)") {
            _ = try ChappieContentPart.file(name: "a\n", data: [1], mediaType: "text/plain")
        },
    ]

    @Test(arguments: Self.initialisers)
    func initialiserRefusesTextAndNamesItsArgument(row: RefusedText<Making>) {
        let error = #expect(throws: ChappieArgumentError.self) { try row.input() }
        #expect(error.map { "\($0.argument) \($0.reason)" } == row.words)
        #expect(error?.description == "request.invalid: An argument cannot be used: \(row.words).")
    }

    @Test(arguments: ["", "{}", "\u{0}", #"{"version":1,"id":"a","items":["x"]}"#])
    func savedContextThatIsDamagedIsRefused(text: String) {
        #expect(throws: ChappieContextError.damaged) { _ = try ChappieClientContext(data: Data(text.utf8)) }
    }

    // MARK: Properties of a request

    private static func part(_ part: ChappieContentPart) -> RequestChange {
        { $0.messages = [.user("hi"), .user([.text("a"), part])] }
    }

    private static let place = "messages[1].parts[1]"

    private static let requests: [RefusedText<RequestChange>] = [
        .init("model", "model is empty") { $0.model = "" },
        .init("model, NUL", "model \(Self.control)") { $0.model = "m\u{0}" },
        .init("effort", "reasoningEffort is empty") { $0.reasoningEffort = "" },
        .init("effort, a space", "reasoningEffort has a space") { $0.reasoningEffort = "very high" },
        .init("tier", "serviceTier \(Self.control)") { $0.serviceTier = "flex\n" },
        .init("lane", "lane has characters other than A–Z a–z 0–9 _ . -") { $0.lane = "a/b" },
        .init("body", "the body is not a JSON object") { $0.bodyJSON = Array("[]".utf8) },
        .init("input of a body", "the input is neither a text nor an array") {
            $0.bodyJSON = Array(#"{"input":1}"#.utf8)
        },
        .init("function", "toolChoice is empty") { $0.toolChoice = .function("") },
        .init("function, a dot", "toolChoice \(Self.nameBytes)") { $0.toolChoice = .function("a.b") },
        .init("custom tool", "toolChoice is longer than 64 characters") {
            $0.toolChoice = .customTool(String(repeating: "a", count: 65))
        },
        .init("hosted tool", "toolChoice has a space") { $0.toolChoice = .hostedTool(type: "web search") },
        .init("temperature", "temperature is negative, or not a finite number") { $0.temperature = -0.1 },
        .init("temperature, NaN", "temperature is negative, or not a finite number") { $0.temperature = .nan },
        .init("top p", "topP is not a number from 0 to 1") { $0.topP = 1.1 },
        .init("top p, NaN", "topP is not a number from 0 to 1") { $0.topP = .nan },
        .init("metadata, many", "metadata has more than 16 members") {
            $0.metadata = Dictionary(uniqueKeysWithValues: (0..<17).map { ("\($0)", "") })
        },
        .init("metadata, no key", "metadata has an empty key") { $0.metadata = ["": "a"] },
        .init("metadata, a long key", "metadata has a key that is longer than 64 characters") {
            $0.metadata = [String(repeating: "ä", count: 65): ""]
        },
        .init("metadata, a long value", "metadata has a value that is longer than 512 characters") {
            $0.metadata = ["a": String(repeating: "ä", count: 513)]
        },
        .init("previous response", "previousResponseID is empty") { $0.previousResponseID = "" },
        .init("cache key", "promptCacheKey \(Self.control)") { $0.promptCacheKey = "a\r\nb" },
        .init("truncation", "truncation is empty") { $0.truncation = "" },
        .init("include", "include[1] has a space") { $0.include = [.encryptedReasoning, "a b"] },
        .init("field, no name", "the name of fields[1] is empty") { $0.fields = [("X-A", "1"), ("", "2")] },
        .init("field, a value", "the value of fields[0] \(Self.control)") { $0.fields = [("X-A", "a\r\nB: c")] },
        .init("field, the transport's", "the name of fields[0] is the name of a field that the transport writes itself")
        {
            $0.fields = [("Host", "h")]
        },
        .init("picture, empty", "\(Self.place).url is empty", Self.part(.image(url: ""))),
        .init("picture, a line break", "\(Self.place).url \(Self.urlControl)", Self.part(.image(url: "https://h/\n"))),
        .init("picture, no scheme", "\(Self.place).url is not a URL", Self.part(.image(url: "a.png"))),
        .init(
            "picture, no host", "\(Self.place).url is a URL without a host", Self.part(.image(url: "https:///a.png"))),
        .init(
            "picture, data", "\(Self.place).url is a data URL without a comma", Self.part(.image(url: "data:image/png"))
        ),
        .init("picture, detail", "\(Self.place).detail is empty", Self.part(.image(url: "https://h/a", detail: ""))),
        .init("picture of a file", "\(Self.place).id is empty", Self.part(.imageFile(id: ""))),
        .init("file, name", "\(Self.place).name is empty", Self.part(.file(name: "", dataURL: "data:,a"))),
        .init(
            "file, URL", "\(Self.place).dataURL is not a URL with the scheme data",
            Self.part(.file(name: "a", dataURL: "https://h/a"))),
        .init("file", "\(Self.place).id has a space", Self.part(.fileReference(id: "file 1"))),
        .init("file at a URL", "\(Self.place).fileURL is not a URL", Self.part(.fileURL(":a"))),
    ]

    private static func failure(
        _ request: ChappieResponseRequest = ChappieResponseRequest("hi"), of configuration: ChappieConfiguration
    ) async -> ChappieTransportFailure? {
        await Self.failure { _ = try await Chappie.client(configuration: configuration).response(request) }
    }

    private static func failure(_ work: () async throws -> Void) async -> ChappieTransportFailure? {
        do {
            try await work()
        } catch ChappieClientError.transport(let failure) {
            return failure
        } catch {
            Issue.record("another error: \(error)")
        }
        return nil
    }

    /// A configuration for an address at which no request arrives.
    private static func configuration() throws -> ChappieConfiguration {
        var configuration = ChappieConfiguration(
            apiKey: "key", endpoint: .other(try #require(URL(string: "http://127.0.0.1:9"))))
        configuration.proxy = .none
        return configuration
    }

    @Test(arguments: Self.requests)
    func turnRefusesATextOfItsRequestBeforeAnythingIsSent(row: RefusedText<RequestChange>) async throws {
        var request = ChappieResponseRequest("hi")
        row.input(&request)
        let failure = await Self.failure(request, of: try Self.configuration())
        #expect(failure?.tag == "request.invalid")
        #expect(failure?.details.detail == row.words)
        #expect(failure?.attempts == 0 && failure?.replaySafety == .notSent)
    }

    @Test func turnThatIsRefusedLeavesTheConversationUnchanged() async throws {
        let client = Chappie.client(configuration: try Self.configuration())
        var request = ChappieResponseRequest("hi")
        request.temperature = -1
        _ = await Self.failure { _ = try await client.response(request) }
        #expect(client.context.isEmpty)
        // It can be sent again, and is not refused as a second turn.
        #expect(await Self.failure { _ = try await client.response(request) }?.tag == "request.invalid")
    }

    // MARK: Properties of a configuration

    private static func tool(
        _ name: String = "t", schema: ChappieJSONValue? = nil, format: ChappieToolInputFormat? = nil
    ) -> ChappieHostTool {
        guard let format else {
            return ChappieHostTool(name: name, description: "", inputSchema: schema) { _ in .init(output: "") }
        }
        return ChappieHostTool(name: name, description: "", format: format) { _ in .init(output: "") }
    }

    private static let configurations: [RefusedText<ConfigurationChange>] = [
        .init("model", "model is empty") { $0.model = "" },
        .init("effort", "reasoningEffort is empty") { $0.reasoningEffort = "" },
        .init("tier", "serviceTier has a space") { $0.serviceTier = "a b" },
        .init("tool, no name", "tools[1].name is empty") { $0.tools = [Self.tool(), Self.tool("")] },
        .init("tool, a space", "tools[0].name \(Self.nameBytes)") { $0.tools = [Self.tool("a b")] },
        .init("tool, a line break", "tools[0].name \(Self.nameBytes)") { $0.tools = [Self.tool("a\n")] },
        .init("tool, a long name", "tools[0].name is longer than 64 characters") {
            $0.tools = [Self.tool(String(repeating: "a", count: 65))]
        },
        .init("tool, a schema", "tools[0].inputSchema is not a JSON object") { $0.tools = [Self.tool(schema: ["a"])] },
        .init(
            "tool, a number", "tools[0].inputSchema has a number that is not finite, which JSON does not have"
        ) {
            $0.tools = [Self.tool(schema: ["maximum": .number(.infinity)])]
        },
        .init("tool, a grammar", "tools[0].format is a grammar without a definition") {
            $0.tools = [Self.tool(format: .grammar(syntax: .lark, definition: ""))]
        },
        .init("harness's tool", "harness.tools[0].name is empty") {
            $0.harness = ChappieHarness(name: "h", tools: [ChappieHarnessTool(name: "", description: "")])
        },
        .init("harness's schema", "harness.tools[0].inputSchema is not a JSON object") {
            $0.harness = ChappieHarness(
                name: "h", tools: [ChappieHarnessTool(name: "t", description: "", inputSchema: "object")])
        },
        .init("key", "the credential's bearerToken \(Self.control)") {
            $0.credential = { _ in ChappieCredential(bearerToken: "key\n") }
        },
        .init("field", "the value of additionalFields[0] \(Self.control)") {
            $0.endpoint.additionalFields = [.init(name: "X-A", value: "a\n")]
        },
        .init("own field", "the name of additionalFields[0] is empty") {
            $0.endpoint.additionalFields = [.init(name: "X-A", value: "a")]
            $0.additionalFields = [("", "a")]
        },
        .init("credential's field", "credentialFieldName is empty") { $0.endpoint.credentialFieldName = "" },
        .init("resource, a slash", "baseURL has a host that is not a name or an address") {
            $0.endpoint = .azureOpenAI(resource: "a/b")
        },
        .init("resource, empty", "baseURL has a host that is not a name or an address") {
            $0.endpoint = .azureOpenAI(resource: "")
        },
        .init("resource, a line break", "baseURL has a host that is not a name or an address") {
            $0.endpoint = .azureOpenAI(resource: "a\r\nb")
        },
        .init("base URL", "baseURL has another scheme than http, https, ws and wss") {
            $0.endpoint = .default(in: ["CHAPPIE_BASE_URL": "localhost"])
        },
        .init("base URL, a host", "baseURL has no host") {
            $0.endpoint = .default(in: ["CHAPPIE_BASE_URL": "http://"])
        },
    ]

    @Test(arguments: Self.configurations)
    func turnRefusesATextOfItsConfigurationBeforeAnythingIsSent(row: RefusedText<ConfigurationChange>) async throws {
        var configuration = try Self.configuration()
        row.input(&configuration)
        let failure = await Self.failure(of: configuration)
        #expect(failure?.tag == "request.invalid")
        #expect(failure?.details.detail == row.words)
        #expect(failure?.attempts == 0 && failure?.replaySafety == .notSent)
    }

    @Test(arguments: ["", " ", "ä", "a\u{0}", String(repeating: "a", count: 257)])
    func nameOfALaneIsRefused(name: String) async throws {
        let client = Chappie.client(configuration: try Self.configuration())
        for other in [client.lane(name), client.fork(lane: name)] {
            let failure = await Self.failure { _ = try await other.send("hi") }
            #expect(failure?.details.detail?.hasPrefix("lane ") == true)
            #expect(failure?.attempts == 0)
        }
    }

    @Test(arguments: ["", "models", "/a b", "/a\r\nX: b"])
    func pathOfADocumentIsRefused(path: String) async throws {
        var configuration = try Self.configuration()
        configuration.endpoint.modelsPath = path
        configuration.endpoint.usagePath = path
        let client = Chappie.client(configuration: configuration)
        for work in [{ _ = try await client.models() }, { _ = try await client.usage() }] as [() async throws -> Void] {
            let failure = await Self.failure(work)
            #expect(failure?.tag == "request.invalid")
            #expect(failure?.details.detail?.hasPrefix("the document's path ") == true)
        }
    }

    // MARK: A tool's result

    @Test func resultOfAToolThatCannotBeSentHasAFault() {
        let result = ChappieToolResult(parts: [.text("a"), .image(url: "\n")])
        #expect(result.fault?.argument == "result.parts[1].url")
        #expect(result.fault?.reason == Self.urlControl)
        #expect(ChappieToolResult(output: "\u{0}").fault == nil)
        #expect(ChappieToolResult(parts: [.image(url: "data:image/png;base64,AA==")]).fault == nil)
    }

    // MARK: Texts that work

    @Test func validTextsOfEachPropertyHaveNoFault() {
        var request = ChappieResponseRequest([
            .user("\u{0}\n"),
            .user([
                .image(url: "HTTPS://user@h:1/ä.png?a#b", detail: "auto"), .image(url: "http://[::1]/"),
                .image(url: "data:,a\r\nb"), .image(url: "file:///a.png"), .imageFile(id: "file-1"),
                .file(name: "ä b.pdf", dataURL: "data:x/y;base64,AA=="),
                .fileReference(id: "f"), .fileURL("https://h/a"),
            ]),
        ])
        request.model = "creator/model: latest"
        request.metadata = Dictionary(uniqueKeysWithValues: (0..<16).map { ("\($0)", "") })
        request.metadata?["0"] = String(repeating: "😀", count: 512)
        request.toolChoice = .function("get_weather-2")
        request.temperature = 0
        request.topP = 0
        request.fields = [("X-Org", "1"), ("Idempotency-Key", "a b")]
        #expect(request.fault == nil)
        #expect(ChappieConfiguration().fault == nil)
    }
}
