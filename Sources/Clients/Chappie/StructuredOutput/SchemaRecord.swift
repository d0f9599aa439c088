/// The requests of one type's `init(from:)`, in order.
///
/// It belongs to the call that derives the schema.
final class SchemaRecord {
    /// The form of the type's values, as far as it has asked for one.
    private enum Form {
        case none
        case whole(SchemaNode)
        case object
        case array
    }

    /// A member, whose schema is known or is recorded by a container of its own.
    private struct Member {
        let name: String
        var node: SchemaNode?
        var record: SchemaRecord?
        var isNullable = false
    }

    private var form = Form.none
    private var members: [Member] = []
    private var element = Member(name: "*")
    /// The number of elements that were decoded.
    private(set) var elementCount = 0
    /// The number of questions for the end of the elements.
    private var endQueryCount = 0
    /// Indicates whether the type may ask for `null`.
    let takesNull: Bool
    private var isNullable = false

    /// Creates a record; only an optional's own code may ask for `null` in place of the whole value.
    init(takesNull: Bool = false) { self.takesNull = takesNull }

    /// The member whose presence was asked for last, if it was not asked whether it is `null` since.
    private var presenceQuery: String?

    /// Indicates whether the type has asked for a form.
    var hasForm: Bool {
        if case .none = self.form { return false }
        return true
    }

    /// Indicates whether the type decodes one value alone.
    var isWhole: Bool {
        guard case .whole = self.form else { return false }
        return true
    }

    // MARK: Recording

    /// Begins an object; returns false when the type has another form already.
    func beginObject() -> Bool {
        switch self.form {
        case .none: self.form = .object
        case .object: break
        case .whole, .array: return false
        }
        return true
    }

    /// Begins an array; returns false when the type has another form already, or asks for its elements twice.
    func beginArray() -> Bool {
        guard case .none = self.form else { return false }
        self.form = .array
        return true
    }

    /// Records the whole value; returns false when the type has another form.
    func setWhole(_ node: SchemaNode) -> Bool {
        switch self.form {
        case .none: self.form = .whole(node)
        case .whole(let other): return node == other
        case .object, .array: return false
        }
        return true
    }

    /// Records that the whole value may be `null`.
    func allowNull() { self.isNullable = true }

    /// Records the question whether there is a member: `decodeIfPresent` asks next whether it is `null`.
    ///
    /// - Returns: false when another such question was not followed by that one, so that the type decides by presence.
    func askForPresence(of name: String) -> Bool {
        defer { self.presenceQuery = name }
        return self.presenceQuery == nil
    }

    /// Records that a member may be `null`; returns whether it is new.
    func allowNull(for name: String) -> Bool {
        if self.presenceQuery == name { self.presenceQuery = nil }
        let (index, isNew) = self.index(of: name)
        self.members[index].isNullable = true
        return isNew
    }

    /// Records a member.
    ///
    /// - Parameters:
    ///   - name: the member's name.
    ///   - node: its schema.
    /// - Returns: whether the member is new; nil when it has another schema already.
    func setMember(_ name: String, _ node: SchemaNode) -> Bool? {
        let (index, isNew) = self.index(of: name)
        if let other = self.members[index].node, other != node { return nil }
        if self.members[index].record != nil { return nil }
        self.members[index].node = node
        return isNew
    }

    /// Returns the record of a member that has a container of its own, and whether the member is new; nil when it has a
    /// schema already.
    func record(of name: String) -> (record: SchemaRecord, isNew: Bool)? {
        let (index, isNew) = self.index(of: name)
        guard self.members[index].node == nil else { return nil }
        let record = self.members[index].record ?? SchemaRecord()
        self.members[index].record = record
        return (record, isNew)
    }

    private func index(of name: String) -> (Int, isNew: Bool) {
        if let index = self.members.firstIndex(where: { $0.name == name }) { return (index, false) }
        self.members.append(Member(name: name))
        return (self.members.count - 1, true)
    }

    /// Records an element; returns false for one that a list does not have.
    func setElement(_ node: SchemaNode) -> Bool {
        guard self.elementCount == 0 else { return false }
        self.element.node = node
        self.elementCount = 1
        return true
    }

    /// Returns the record of an element that has a container of its own; nil for one that a list does not have.
    func recordOfElement() -> SchemaRecord? {
        guard self.elementCount == 0 else { return nil }
        let record = SchemaRecord()
        self.element.record = record
        self.elementCount = 1
        return record
    }

    /// Records that an element may be `null`.
    func allowNullElement() { self.element.isNullable = true }

    /// Answers whether there are no more elements: there is one.
    func isAtEnd() -> Bool {
        self.endQueryCount += 1
        return self.elementCount > 0
    }

    // MARK: The schema

    /// Returns the schema of what was recorded.
    func node(_ derivation: SchemaDerivation, at path: [any CodingKey]) throws -> SchemaNode {
        // The type decides by the presence of a member.
        if self.presenceQuery != nil { throw derivation.refuse(.severalForms, at: path) }
        let node: SchemaNode
        switch self.form {
        // A type without members asks for nothing.
        case .none: node = .object([])
        case .whole(let whole): node = whole
        case .object:
            node = .object(
                try self.members.map { member in
                    let path = path + [SchemaKey(member.name)]
                    return SchemaNode.Member(
                        name: member.name, node: try Self.node(of: member, derivation, at: path))
                })
        case .array:
            // A list is read until its end, whatever its length.
            guard self.elementCount == 1, self.endQueryCount > 1 else {
                throw derivation.refuse(.fixedLength, at: path)
            }
            node = .array(try Self.node(of: self.element, derivation, at: path + [SchemaKey(intValue: 0)]))
        }
        return self.isNullable ? node.orNull : node
    }

    private static func node(
        of member: Member, _ derivation: SchemaDerivation, at path: [any CodingKey]
    ) throws -> SchemaNode {
        guard let node = try member.node ?? member.record?.node(derivation, at: path) else {
            // It was only asked whether the member is null.
            if derivation.answers.isNull { return .null }
            throw derivation.refuse(.severalForms, at: path)
        }
        return member.isNullable ? node.orNull : node
    }
}

extension SchemaNode {
    /// The same schema that allows `null` as well.
    var orNull: SchemaNode {
        if case .nullable = self { return self }
        return .nullable(self)
    }
}
