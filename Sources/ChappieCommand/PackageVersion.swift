// The version of this program, and how `--version` prints it beside those of the libraries.
import Chappie

/// Versions in words.
enum PackageVersion {
    /// The version of this package.
    static let current = ChappieTransportVersion.current

    /// What `--version` prints.
    static func text(libraries: [(name: String, version: String)] = ChappieLinkedLibraries.versions) -> String {
        let rows = [(name: "chappie", version: Self.current)] + libraries
        return rows.map { "\($0.name) \($0.version)\n" }.joined()
    }
}
