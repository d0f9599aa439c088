// The field lines of a header section (RFC 9110 section 5).
// Values without an owner.

/// The field lines of a head, in their order.
package struct FieldSection: RandomAccessCollection, Equatable, Sendable {
    /// A field line.
    package struct Line: Equatable, Sendable {
        /// The field name, as it was written.
        package let name: String
        /// The field value, without white space around it; line breaks in it are spaces.
        package let value: String

        /// Makes a line.
        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    private struct Place: Equatable, Sendable {
        let name: Range<Int>
        var value: Range<Int>
    }

    /// All names and values, one after the other, so that many short texts need one allocation.
    private var bytes: [UInt8] = []
    private var places: [Place] = []
    /// The number of line breaks behind the last value that were followed by white space only.
    private var pendingFolds = 0

    /// Makes a section without lines.
    package init() {}

    /// Returns the values of all lines with that name, compared without regard to case.
    package func values(of name: String) -> [String] { self.ranges(of: name).map { self.text($0) } }

    /// Returns the value of the field: those of all its lines, joined with ", " (RFC 9110 section 5.3).
    ///
    /// Nil when there is no line with that name. `Set-Cookie` is the one field whose lines cannot be joined.
    package func value(of name: String) -> String? {
        let values = self.values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Returns the value of the field as `value(of:)` does, without the lines that repeat the value of an earlier one.
    ///
    /// A proxy may add a field that the server has sent already, with the same value.
    package func distinctValue(of name: String) -> String? {
        let values = self.values(of: name).reduce(into: [String]()) { distinct, value in
            if !distinct.contains(value) { distinct.append(value) }
        }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// Returns the bytes of the values of all lines with that name.
    func rawValues(of name: String) -> [ArraySlice<UInt8>] { self.ranges(of: name).map { self.bytes[$0] } }

    private func ranges(of name: String) -> [Range<Int>] {
        self.places.compactMap { place in
            let isNamed =
                place.name.count == name.utf8.count
                && self.bytes[place.name].elementsEqual(name.utf8) { $0.lowercased == $1.lowercased }
            return isNamed ? place.value : nil
        }
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: self.bytes[range], as: UTF8.self) }

    /// Returns whether all lines are the same, byte for byte and in the same order.
    package static func == (left: Self, right: Self) -> Bool {
        left.bytes == right.bytes && left.places == right.places
    }

    // MARK: Lines

    /// The position of the first line.
    package var startIndex: Int { 0 }

    /// The position behind the last line.
    package var endIndex: Int { self.places.count }

    /// Returns a line.
    ///
    /// Bytes that are not UTF-8 are replaced as `String(decoding:as:)` does.
    package subscript(position: Int) -> Line {
        Line(name: self.text(self.places[position].name), value: self.text(self.places[position].value))
    }

    // MARK: Reading

    /// Adds a line without its line end.
    mutating func append(line: ArraySlice<UInt8>) throws(HTTPError) {
        // RFC 9112 section 5.1: no white space is allowed between the name and the colon. Only a proxy may remove it.
        guard let colon = line.firstIndex(where: { !$0.isTokenByte }), colon > line.startIndex,
            line[colon] == UInt8(ascii: ":")
        else { throw .invalidFieldLine }
        let value = try Self.content(of: line[(colon + 1)...])
        if self.places.isEmpty {
            // Enough for most heads, so that the buffer seldom grows.
            self.bytes.reserveCapacity(1_024)
            self.places.reserveCapacity(24)
        }
        let start = self.bytes.count
        self.bytes += line[..<colon]
        self.bytes += value
        let valueStart = start + (colon - line.startIndex)
        self.places.append(Place(name: start..<valueStart, value: valueStart..<self.bytes.count))
        self.pendingFolds = 0
    }

    /// Adds a line that begins with white space to the value of the line before it.
    ///
    /// RFC 9112 section 5.2: a user agent replaces each such line break with spaces.
    mutating func append(continuation line: ArraySlice<UInt8>) throws(HTTPError) {
        guard var place = self.places.last else { throw .invalidFieldLine }
        let content = try Self.content(of: line)
        self.pendingFolds += 1
        guard !content.isEmpty else { return }
        // White space at either end of the value is not part of it.
        if !place.value.isEmpty { self.bytes += repeatElement(.space, count: self.pendingFolds) }
        self.pendingFolds = 0
        self.bytes += content
        place.value = place.value.lowerBound..<self.bytes.count
        self.places[self.places.count - 1] = place
    }

    /// Returns the line without white space around it.
    private static func content(of line: ArraySlice<UInt8>) throws(HTTPError) -> ArraySlice<UInt8> {
        if let byte = line.first(where: \.isForbiddenInValue) { throw .controlCharacter(byte) }
        guard let first = line.firstIndex(where: { !$0.isWhitespace }),
            let last = line.lastIndex(where: { !$0.isWhitespace })
        else { return [] }
        return line[first...last]
    }
}
