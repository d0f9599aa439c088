// Folders of recordings that are no part of the repository.
//
// Pure, apart from the look at the environment.
import Foundation

/// A folder beside the checkout, unless the environment names another one.
enum SharedFolder {
    /// Returns the folder that a variable names; the one beside the checkout when it is not set.
    static func url(_ variable: String, orBesideTheCheckout name: String) -> URL {
        if let path = Self.path(in: variable) { return URL(fileURLWithPath: path) }
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<6 { root.deleteLastPathComponent() }
        return root.appendingPathComponent("shared/\(name)")
    }

    /// The value of a variable; nil when it is not set or empty.
    static func path(in variable: String) -> String? {
        ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }
}
