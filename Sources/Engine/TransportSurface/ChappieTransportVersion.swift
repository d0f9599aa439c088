/// The version of this package.
public enum ChappieTransportVersion {
    /// The version, by Semantic Versioning 2.0.0.
    public static let current = "0.1.0"
}
