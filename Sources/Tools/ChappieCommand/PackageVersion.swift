// The version of this program, and the text of `--version` with those of the libraries.
import Chappie

/// The texts of versions.
enum PackageVersion {
    /// The version of this package.
    static let current = ChappieTransportVersion.current
    /// The day of that version, for the manual page.
    static let date = "December 1, 2026"

    /// Returns the text of `--version`.
    static func text(libraries: [(name: String, version: String)] = ChappieLinkedLibraries.versions) -> String {
        let rows = [(name: "chappie", version: Self.current)] + libraries
        return rows.map { "\($0.name) \($0.version)\n" }.joined()
    }
}
