import ResponseEvents

/// The schema of the values of one type.
indirect enum SchemaNode: Equatable, Sendable {
    /// A member of an object.
    struct Member: Equatable, Sendable {
        let name: String
        let node: SchemaNode
    }

    /// Text.
    case string
    /// Text of a format (JSON Schema draft 2020-12, Validation, section 7.3).
    case text(format: String)
    /// A number without a fraction.
    case integer
    /// A number.
    case number
    /// True or false.
    case boolean
    /// One of these texts.
    case texts([String])
    /// One of these integers.
    case integers([Int64])
    /// Elements of one kind.
    case array(SchemaNode)
    /// Members of one kind, with any names.
    case dictionary(SchemaNode)
    /// These members, in order.
    case object([Member])
    /// A value, or `null`.
    case nullable(SchemaNode)
    /// A value with a description for the model.
    case described(SchemaNode, String)

    /// The node of a value that was `null`, so that its schema is not known.
    static let null = SchemaNode.nullable(.object([]))

    /// The schema without its own description.
    private var undescribed: SchemaNode {
        guard case .described(let node, _) = self else { return self }
        return node.undescribed
    }

    /// Returns whether a run with fewer values has asked for no other members.
    func covers(_ other: SchemaNode) -> Bool {
        switch (self.undescribed, other.undescribed) {
        case (_, .null): true
        case (.nullable(let own), .nullable(let other)), (.array(let own), .array(let other)),
            (.dictionary(let own), .dictionary(let other)):
            own.covers(other)
        case (.object(let own), .object(let others)):
            others.allSatisfy { other in
                own.contains { $0.name == other.name && $0.node.covers(other.node) }
            }
        default: self.undescribed == other.undescribed
        }
    }

    /// Returns the same schema with descriptions of the members of these names; nil when one has no such member.
    func describing(_ descriptions: [String: String]) -> SchemaNode? {
        guard !descriptions.isEmpty else { return self }
        guard case .object(var members) = self else { return nil }
        for (name, text) in descriptions {
            guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
            members[index] = Member(name: name, node: .described(members[index].node, text))
        }
        return .object(members)
    }

    /// Indicates whether the values are objects.
    var isObject: Bool {
        switch self {
        case .object, .dictionary: true
        case .described(let node, _): node.isObject
        case .string, .text, .integer, .number, .boolean, .texts, .integers, .array, .nullable: false
        }
    }

    /// The schema as JSON text.
    var jsonText: String { String(decoding: self.json(isNullable: false), as: UTF8.self) }

    private func json(isNullable: Bool) -> [UInt8] {
        var object = JSONObjectText()
        switch self {
        case .string: object.setType("string", isNullable)
        case .text(let format):
            object.setType("string", isNullable)
            object.setText(format, for: "format")
        case .integer: object.setType("integer", isNullable)
        case .number: object.setType("number", isNullable)
        case .boolean: object.setType("boolean", isNullable)
        case .texts(let texts):
            object.setType("string", isNullable)
            object.setValues(texts.map { JSONText.string($0) }, isNullable)
        case .integers(let integers):
            object.setType("integer", isNullable)
            object.setValues(integers.map { Array(String($0).utf8) }, isNullable)
        case .array(let element):
            object.setType("array", isNullable)
            object["items"] = element.json(isNullable: false)[...]
        case .dictionary, .object:
            guard !isNullable else {
                let choices = [self.json(isNullable: false)[...], Array(#"{"type":"null"}"#.utf8)[...]]
                object["anyOf"] = JSONArrayText.json(choices)[...]
                return object.json
            }
            self.setObject(&object)
        case .nullable(let node): return node.json(isNullable: true)
        case .described(let node, let text):
            guard let described = try? JSONObjectText(node.json(isNullable: isNullable)) else { break }
            object = described
            object.setText(text, for: "description")
        }
        return object.json
    }

    private func setObject(_ object: inout JSONObjectText) {
        object.setType("object", false)
        switch self {
        case .dictionary(let value): object["additionalProperties"] = value.json(isNullable: false)[...]
        case .object(let members):
            var properties = JSONObjectText()
            for member in members { properties[member.name] = member.node.json(isNullable: false)[...] }
            object["properties"] = properties.json[...]
            object["required"] = JSONArrayText.json(members.map { JSONText.string($0.name)[...] })[...]
            object.setJSON("false", for: "additionalProperties")
        case .string, .text, .integer, .number, .boolean, .texts, .integers, .array, .nullable, .described: break
        }
    }
}

extension JSONObjectText {
    fileprivate mutating func setType(_ type: String, _ isNullable: Bool) {
        if isNullable { self.setJSON(#"["\#(type)","null"]"#, for: "type") } else { self.setText(type, for: "type") }
    }

    fileprivate mutating func setValues(_ values: [[UInt8]], _ isNullable: Bool) {
        let all = values + (isNullable ? [Array("null".utf8)] : [])
        self["enum"] = JSONArrayText.json(all.map { $0[...] })[...]
    }
}
