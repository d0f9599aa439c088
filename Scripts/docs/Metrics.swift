// What the documentation's adapter uses of swift-metrics, so that it can be compiled without a dependency.

public final class Timer: Sendable {
    public init(label: String, dimensions: [(String, String)] = []) {}

    public func recordNanoseconds(_ duration: Int64) {}
}
