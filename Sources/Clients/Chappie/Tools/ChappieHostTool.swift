import ResponseEvents

/// A tool that the program runs when the model calls it.
///
/// ```swift
/// let weather = ChappieHostTool(
///     name: "get_weather", description: "The weather of a city.",
///     inputSchema: ["type": "object", "properties": ["city": ["type": "string"]]]
/// ) { call in
///     ChappieToolResult(output: "21 °C in \(call.argumentsJSON?["city"]?.string ?? "an unknown place")")
/// }
/// ```
///
/// Its handler runs in a task of its own, which is cancelled with the turn. An error that it throws ends the turn with
/// `ChappieClientError.toolExecutionFailed`; a failure that the model is to read is a result
/// (`ChappieToolResult.failed(_:)`).
///
/// A function does not run, and no approval is asked for, when its arguments are not one JSON object, when a member
/// that the schema's `required` names is missing, or when the `type` of an outermost property differs. The call has
/// then failed, and its output tells the model why, with the offset in bytes. Empty and absent arguments are `{}`, as
/// many models write none for functions without parameters. An optional member may be `null`, and the tool checks the
/// rest of the schema. A function that is called as a custom tool, a custom tool that is called as a function, and a
/// call that the server marks as incomplete do not run either.
///
/// A call with a `namespace` other than the tool's name belongs to another tool:
/// `ChappieClientError.missingToolHandler`.
public struct ChappieHostTool: Sendable {
    /// Runs the tool.
    public typealias Handler = @Sendable (ChappieToolCall) async throws -> ChappieToolResult

    /// The tool's name: letters, digits, `_` and `-`, at most 64.
    public let name: String
    /// Its purpose, for the model.
    public let description: String
    /// The policy for running it when it is called.
    public let policy: ChappieToolPolicy
    /// The input of the tool.
    let input: ToolInput
    /// Runs the tool.
    let handler: Handler

    /// Creates a function, which takes JSON that a schema describes.
    ///
    /// Without a schema it takes any object. `isStrict` asks the server to restrict the model to the schema, which then
    /// has to close every object.
    public init(
        name: String, description: String, inputSchema: ChappieJSONValue? = nil, isStrict: Bool = false,
        policy: ChappieToolPolicy = .automatic, handler: @escaping Handler
    ) {
        self.name = name
        self.description = description
        self.policy = policy
        self.input = .schema(inputSchema ?? .anyObject, isStrict: isStrict)
        self.handler = handler
    }

    /// Creates a custom tool, which takes text.
    public init(
        name: String, description: String, format: ChappieToolInputFormat, policy: ChappieToolPolicy = .automatic,
        handler: @escaping Handler
    ) {
        self.name = name
        self.description = description
        self.policy = policy
        self.input = .text(format)
        self.handler = handler
    }

    /// The declaration for the model.
    var declaration: ToolDeclaration {
        ToolDeclaration(name: self.name, description: self.description, input: self.input)
    }
}

/// The text that a custom tool takes.
public enum ChappieToolInputFormat: Sendable, Equatable {
    /// Any text.
    case text
    /// Text of a grammar.
    case grammar(syntax: Syntax, definition: String)

    /// The syntax of a grammar.
    public enum Syntax: String, Sendable, CaseIterable {
        /// Lark.
        case lark
        /// A regular expression.
        case regex
    }
}

/// A tool that a harness declares to the model.
///
/// It has no handler. A call of it is `ChappieClientError.missingToolHandler`, unless the client has a host tool of
/// that name, whose declaration then replaces this one.
public struct ChappieHarnessTool: Sendable, Equatable {
    /// The tool's name: letters, digits, `_` and `-`, at most 64.
    public let name: String
    /// Its purpose, for the model.
    public let description: String
    /// The JSON Schema of its arguments.
    public let inputSchema: ChappieJSONValue

    /// Creates a tool; without a schema it takes any object.
    public init(name: String, description: String, inputSchema: ChappieJSONValue? = nil) {
        self.name = name
        self.description = description
        self.inputSchema = inputSchema ?? .anyObject
    }

    /// The declaration for the model.
    var declaration: ToolDeclaration {
        ToolDeclaration(
            name: self.name, description: self.description, input: .schema(self.inputSchema, isStrict: false))
    }
}

/// The input of a tool.
enum ToolInput: Sendable, Equatable {
    /// JSON, with its schema.
    case schema(ChappieJSONValue, isStrict: Bool)
    /// Text.
    case text(ChappieToolInputFormat)

    /// The schema of a function's arguments.
    var schema: ChappieJSONValue? {
        guard case .schema(let schema, _) = self else { return nil }
        return schema
    }
}

/// A tool in a request.
struct ToolDeclaration: Sendable, Equatable {
    /// The tool's name.
    let name: String
    /// Its purpose.
    let description: String
    /// The input of the tool.
    let input: ToolInput

    /// The tool as JSON text, identical for equal tools.
    var json: [UInt8] {
        var object = JSONObjectText()
        switch self.input {
        case .schema(let schema, let isStrict):
            object.setText("function", for: "type")
            object.setText(self.name, for: "name")
            object.setText(self.description, for: "description")
            object.setJSON(isStrict ? "true" : "false", for: "strict")
            object.setJSON(schema.jsonText, for: "parameters")
        case .text(let format):
            object.setText("custom", for: "type")
            object.setText(self.name, for: "name")
            object.setText(self.description, for: "description")
            object["format"] = format.json[...]
        }
        return object.json
    }
}

extension ChappieToolInputFormat {
    fileprivate var json: [UInt8] {
        var object = JSONObjectText()
        switch self {
        case .text:
            object.setText("text", for: "type")
        case .grammar(let syntax, let definition):
            object.setText("grammar", for: "type")
            object.setText(syntax.rawValue, for: "syntax")
            object.setText(definition, for: "definition")
        }
        return object.json
    }
}

extension ChappieJSONValue {
    /// The schema of a tool without a description of its arguments.
    static let anyObject: ChappieJSONValue = ["type": "object", "properties": [:]]
}
