// A stand-in for the module of the same name in https://github.com/apple/swift-metrics: the one type of it that the
// example and the documentation use, in its shape. It writes lines to standard error.
import Foundation

/// A recorder of durations.
public final class Timer: Sendable {
    private let name: String

    /// Creates a timer; those with the same label and dimensions are one.
    public init(label: String, dimensions: [(String, String)] = []) {
        self.name = ([label] + dimensions.map { "\($0.0)=\($0.1)" }).joined(separator: " ")
    }

    /// Records a duration.
    public func recordNanoseconds(_ duration: Int64) {
        try? FileHandle.standardError.write(contentsOf: Data("metric \(self.name) \(duration) ns\n".utf8))
    }
}
