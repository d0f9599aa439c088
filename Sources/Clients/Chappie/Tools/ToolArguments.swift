import ResponseEvents

/// A model's arguments of a function, checked against the function's schema.
///
/// The required members of the schema and the types of the outermost properties are checked; the tool checks the rest.
/// A function without arguments may have empty ones, which are `{}`, and an optional member may be `null`.
struct ToolArguments {
    /// The fault of the arguments, for the model; nil when they are accepted.
    let fault: String?

    /// The largest number of faults of one call that the model is told of.
    private static let maximumFaultCount = 8

    /// Checks arguments as the model wrote them.
    init(_ text: String, schema: ChappieJSONValue) {
        let bytes = Array(text.utf8)
        if let fault = JSONObjectFault(bytes) {
            guard fault.kind != .empty else {
                self.fault = Self.fault(of: [], schema: schema)
                return
            }
            self.fault = "The tool was not run: its arguments are not one JSON object. \(fault.sentence)"
            return
        }
        // An object that is nested too deeply to be read here is left to the tool.
        guard case .object(let members)? = JSONDocumentValue(text: bytes) else {
            self.fault = nil
            return
        }
        self.fault = Self.fault(of: members, schema: schema)
    }

    private static func fault(of members: [JSONDocumentValue.Member], schema: ChappieJSONValue) -> String? {
        // Of members with the same name the last one is used.
        let values = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
        var required: [String] = []
        if case .array(let names)? = schema["required"] { required = names.compactMap(\.string) }
        var faults = required.filter { values[$0] == nil }.map { "\"\($0)\" is missing" }
        if case .object(let properties)? = schema["properties"] {
            for (name, property) in properties.sorted(by: { $0.key < $1.key }) {
                guard let value = values[name], let types = property.jsonTypes else { continue }
                if value == .null, !required.contains(name) { continue }
                guard !types.contains(where: { value.isOf(type: $0) }) else { continue }
                faults.append("\"\(name)\" has to be \(types.joined(separator: " or ")), and is \(value.typeName)")
            }
        }
        guard !faults.isEmpty else { return nil }
        let shown = faults.prefix(Self.maximumFaultCount).joined(separator: "; ")
        return "The tool was not run: its arguments do not fit its schema: \(shown)."
    }
}

extension JSONObjectFault {
    /// The fault for the model.
    fileprivate var sentence: String {
        switch self.kind {
        case .empty: "They are empty."
        case .otherValue: "At offset \(self.offset) begins another JSON value."
        case .surplus: "The object ends before offset \(self.offset), and more follows."
        case .truncated: "They end at offset \(self.offset), inside the object."
        case .unexpected: "At offset \(self.offset) is what JSON does not allow there."
        }
    }
}
