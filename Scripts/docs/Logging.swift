// What the documentation's adapter uses of swift-log, so that it can be compiled without a dependency.

public struct Logger: Sendable {
    public enum Level: Sendable { case trace, debug, info, notice, warning, error, critical }

    public enum MetadataValue: Sendable, ExpressibleByStringInterpolation {
        case string(String)

        public init(stringLiteral value: String) { self = .string(value) }
    }

    public struct Message: Sendable, ExpressibleByStringInterpolation {
        public init(stringLiteral value: String) {}
    }

    public typealias Metadata = [String: MetadataValue]

    public init(label: String) {}

    public func log(level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil) {}
}
