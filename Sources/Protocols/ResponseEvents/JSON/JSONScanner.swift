// The module's interface to the C scanner: memory, statuses, and the values that C returns. It belongs to its holder.

import CSimdjson

/// A simdjson parser and the memory of its results, which are valid until its next call.
struct JSONScanner: ~Copyable {
    /// The C scanner; nil when there was no memory for it.
    private let scanner: OpaquePointer?

    init() { self.scanner = csj_scanner_create() }

    deinit { csj_scanner_destroy(self.scanner) }

    /// Scans one event; the 64 bytes past its end must be readable.
    func scan(_ bytes: UnsafeBufferPointer<UInt8>, into event: UnsafeMutablePointer<csj_event>) -> csj_status {
        guard let scanner = self.scanner else { return csj_no_memory }
        guard let start = bytes.baseAddress else { return csj_not_json }
        return csj_scan_event(scanner, start, bytes.count, bytes.count + Int(CSJ_PADDING), event)
    }

    /// Reads an object with all it contains; the 64 bytes past its end must be readable.
    func readValue(_ bytes: UnsafeBufferPointer<UInt8>) throws(ResponseEventError) -> JSONDocumentValue {
        let nodes = try self.nodes(of: bytes, depth: Int(CSJ_MAXIMUM_DEPTH))
        return JSONDocumentValue(nodes: nodes, at: 0)
    }

    /// Lists an object's values down to `depth` levels; the 64 bytes past its end must be readable.
    func nodes(
        of bytes: UnsafeBufferPointer<UInt8>, depth: Int
    ) throws(ResponseEventError) -> UnsafeBufferPointer<csj_node> {
        guard let scanner = self.scanner else { throw .outOfMemory }
        guard let start = bytes.baseAddress else { throw .notJSON }
        var nodes: UnsafePointer<csj_node>?
        var count = 0
        let status = csj_read_tree(
            scanner, start, bytes.count, bytes.count + Int(CSJ_PADDING), depth, &nodes, &count
        )
        guard status == csj_ok else { throw ResponseEventError(status, field: csj_field_none) }
        return UnsafeBufferPointer(start: nodes, count: count)
    }
}

extension UnsafeBufferPointer<csj_node> {
    /// Returns the indices of the values directly inside the container at `index`.
    func children(of index: Int) -> NodeChildren { NodeChildren(self, of: index) }
}

/// The indices of the values directly inside a container.
struct NodeChildren: Sequence, IteratorProtocol {
    private let nodes: UnsafeBufferPointer<csj_node>
    private let end: Int
    private var place: Int

    fileprivate init(_ nodes: UnsafeBufferPointer<csj_node>, of index: Int) {
        self.nodes = nodes
        self.end = nodes[index].next
        self.place = index + 1
    }

    mutating func next() -> Int? {
        guard self.place < self.end else { return nil }
        defer { self.place = self.nodes[self.place].next }
        return self.place
    }
}

extension ResponseEventError {
    /// Creates the error for a status of the scanner.
    init(_ status: csj_status, field: csj_field) {
        switch status {
        case csj_invalid_utf8: self = .invalidUTF8
        case csj_not_object: self = .notObject
        case csj_no_type: self = .missingType
        case csj_too_deep: self = .tooDeep
        case csj_no_memory: self = .outOfMemory
        case csj_wrong_field where field == csj_field_item: self = .invalidField(.item)
        case csj_wrong_field where field == csj_field_response: self = .invalidField(.response)
        case csj_wrong_field: self = .invalidField(.delta)
        default: self = .notJSON
        }
    }
}

extension BorrowedText {
    static var empty: BorrowedText { BorrowedText(validatedUTF8: UnsafeBufferPointer(start: nil, count: 0)) }

    /// Creates the borrowed text; nil when the member is absent or `null`.
    init?(_ text: csj_text) {
        guard let bytes = text.bytes else { return nil }
        self.init(validatedUTF8: UnsafeBufferPointer(start: bytes, count: text.count))
    }

    /// Creates the text of an identifier or a name; nil when the member is absent, `null` or empty, as an empty one
    /// identifies nothing.
    @inline(__always)
    init?(identifier text: csj_text) {
        guard text.count > 0 else { return nil }
        self.init(text)
    }
}

extension String {
    /// Creates the string of an identifier or a name; nil when the member is absent, `null` or empty.
    init?(identifier text: csj_text) {
        guard let text = BorrowedText(identifier: text) else { return nil }
        self.init(text)
    }

    /// Creates the string; nil when the member is absent or `null`.
    init?(_ text: csj_text) {
        guard let text = BorrowedText(text) else { return nil }
        self.init(text)
    }

    /// Creates a string from the content of a checked JSON string.
    init(unescaping text: csj_text) {
        guard let bytes = text.bytes else {
            self = ""
            return
        }
        self.init(unsafeUninitializedCapacity: text.count) { output in
            guard let start = output.baseAddress else { return 0 }
            return csj_unescape(bytes, text.count, start)
        }
    }
}

extension Int {
    /// Creates the number; nil for the -1 that means "absent".
    init?(presence: Int64) {
        guard presence >= 0 else { return nil }
        self.init(exactly: presence)
    }
}
