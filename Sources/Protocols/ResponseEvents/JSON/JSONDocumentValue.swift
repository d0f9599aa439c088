// A small JSON document as values, for rare data: error bodies, usage limits, metadata. Pure.

import CSimdjson
import HTTPProtocol

/// A JSON value of a small document.
///
/// Of members with the same name the last one is used.
package enum JSONDocumentValue: Equatable {
    /// Members in order.
    case object([Member])
    /// Elements in order.
    case array([JSONDocumentValue])
    /// Text, unescaped.
    case string(String)
    /// A number as it is written.
    case number(String)
    /// True or false.
    case bool(Bool)
    /// `null`.
    case null

    /// A member: a name and its value.
    package struct Member: Equatable {
        /// The name, unescaped.
        package let name: String
        /// Its value.
        package let value: JSONDocumentValue
    }

    /// Reads any JSON text (RFC 8259); nil for other text, and for values nested more than 511 deep.
    package init?(text: some Collection<UInt8>) {
        // The scanner reads only objects.
        let padded = PaddedBytes(Array("{\"a\":".utf8) + Array(text) + Array("}".utf8))
        let scanner = JSONScanner()
        let value = padded.withBytes { bytes -> JSONDocumentValue? in
            guard let nodes = try? scanner.nodes(of: bytes, depth: Int(CSJ_MAXIMUM_DEPTH)) else { return nil }
            // A text like `1,"b":2` would be valid inside an object without being one value.
            guard nodes.count > 1, nodes[1].next == nodes.count else { return nil }
            return JSONDocumentValue(nodes: nodes, at: 1)
        }
        guard let value else { return nil }
        self = value
    }

    /// The largest byte count of a document that is read this way.
    static let maximumByteCount = 64 << 10

    init(nodes: UnsafeBufferPointer<csj_node>, at index: Int) {
        let node = nodes[index]
        switch node.kind {
        case csj_kind_object:
            self = .object(
                nodes.children(of: index).map { child in
                    Member(
                        name: String(unescaping: nodes[child].key), value: JSONDocumentValue(nodes: nodes, at: child))
                }
            )
        case csj_kind_array: self = .array(nodes.children(of: index).map { JSONDocumentValue(nodes: nodes, at: $0) })
        case csj_kind_string: self = .string(String(unescaping: node.json))
        case csj_kind_number: self = .number(String(node.json) ?? "0")
        case csj_kind_true: self = .bool(true)
        case csj_kind_false: self = .bool(false)
        default: self = .null
        }
    }

    /// Reads any bytes; nil when they are not a JSON object, or more than `maximumByteCount`.
    init?(object bytes: some Collection<UInt8>) {
        guard bytes.count <= Self.maximumByteCount else { return nil }
        let padded = PaddedBytes(bytes)
        let scanner = JSONScanner()
        guard let value = padded.withBytes({ try? scanner.readValue($0) }) else { return nil }
        self = value
    }

    /// Returns the value of a member; nil for a value that is not an object, and for a member that is `null`.
    subscript(name: String) -> JSONDocumentValue? {
        guard case .object(let members) = self else { return nil }
        guard let value = members.last(where: { $0.name.isExactly(name) })?.value, value != .null else { return nil }
        return value
    }

    /// The string, if it is one and not empty.
    var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The string, or another scalar as it is written.
    var scalarText: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .bool(let isTrue): isTrue ? "true" : "false"
        case .object, .array, .null: nil
        }
    }

    /// The integer, written as a number or as text.
    var integer: Int? { self.scalarText.flatMap(Int.init(lenient:)) }

    /// The finite number, written as a number or as text.
    var double: Double? { self.scalarText.flatMap(Double.init(finite:)) }

    var bool: Bool? { self.scalarText.flatMap(Bool.init(lenient:)) }

    /// The fields of an object that represents a header section.
    ///
    /// The first element of an array is used.
    var headerFields: [(name: String, value: String)] {
        guard case .object(let members) = self else { return [] }
        return members.compactMap { member in
            if case .array(let values) = member.value {
                return values.first?.scalarText.map { (member.name, $0) }
            }
            return member.value.scalarText.map { (member.name, $0) }
        }
    }
}

/// A copy of some bytes with the padding that the scanner needs.
package struct PaddedBytes {
    private let storage: [UInt8]
    let count: Int

    package init(_ bytes: some Collection<UInt8>) {
        let count = bytes.count
        var storage: [UInt8] = []
        storage.reserveCapacity(count + ResponseEventDecoder.paddingByteCount)
        storage.append(contentsOf: bytes)
        storage.append(contentsOf: repeatElement(0, count: ResponseEventDecoder.paddingByteCount))
        self.storage = storage
        self.count = count
    }

    /// Calls a closure with the bytes, behind which there are as many others as a decoder needs.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let count = self.count
        return try self.storage.withUnsafeBufferPointer { (padded) throws(Failure) -> Result in
            try body(UnsafeBufferPointer(rebasing: padded[..<count]))
        }
    }
}
