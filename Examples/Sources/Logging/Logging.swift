// A stand-in for the module of the same name in https://github.com/apple/swift-log: the few declarations of it that the
// example and the documentation use, in its shape. It writes lines to standard error.
import Foundation

/// A logger.
public struct Logger: Sendable {
    /// The severity of a line.
    public enum Level: String, Sendable { case trace, debug, info, notice, warning, error, critical }

    /// A value beside a line.
    public enum MetadataValue: Sendable, ExpressibleByStringInterpolation {
        /// A text.
        case string(String)

        /// Creates a text.
        public init(stringLiteral value: String) { self = .string(value) }
    }

    /// The text of a line.
    public struct Message: Sendable, ExpressibleByStringInterpolation {
        fileprivate let text: String

        /// Creates a text.
        public init(stringLiteral value: String) { self.text = value }
    }

    /// Values beside a line, by name.
    public typealias Metadata = [String: MetadataValue]

    private let label: String

    /// Creates a logger for a part of a program.
    public init(label: String) { self.label = label }

    /// Writes a line.
    public func log(level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {
        let values = (metadata() ?? [:]).sorted { $0.key < $1.key }.map { name, value in
            switch value {
            case .string(let text): " \(name)=\(text)"
            }
        }
        let line = "\(level.rawValue) \(self.label):\(values.joined()) \(message().text)\n"
        try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
    }
}
