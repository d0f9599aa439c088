// The files in `Scenarios`, which the package manager embeds one by one without a list.
//
// Constants; nobody owns them.

/// Every scenario file.
enum BuiltInScenarioFiles {
    /// Their bytes, in the order in which they are listed; a test compares this with the folder.
    static let all: [[UInt8]] = [
        PackageResources.cut_json,
        PackageResources.hs_426_json,
        PackageResources.ok_json,
        PackageResources.replay_diff_json,
        PackageResources.reuse_json,
    ]
}
