/// The bytes of a command: an array of texts.
package struct RESPCommand: Sendable, Equatable {
    /// The bytes for the connection.
    package private(set) var bytes: [UInt8]

    /// Creates a command.
    ///
    /// - Parameter arguments: its name first.
    package init(_ arguments: String...) { self.init(arguments, []) }

    /// Creates a command of texts, and bytes behind them.
    package init(_ texts: [String], _ contents: [[UInt8]]) {
        self.bytes = []
        self.bytes.reserveCapacity(
            16 + texts.reduce(0) { $0 + $1.utf8.count + 16 } + contents.reduce(0) { $0 + $1.count + 16 })
        self.add("*", texts.count + contents.count)
        for text in texts { self.add(text.utf8) }
        for content in contents { self.add(content) }
    }

    private mutating func add(_ type: Unicode.Scalar, _ count: Int) {
        self.bytes.append(UInt8(ascii: type))
        self.bytes.append(contentsOf: String(count).utf8)
        self.bytes.append(0x0d)
        self.bytes.append(0x0a)
    }

    private mutating func add(_ argument: some Collection<UInt8>) {
        self.add("$", argument.count)
        self.bytes.append(contentsOf: argument)
        self.bytes.append(0x0d)
        self.bytes.append(0x0a)
    }
}
