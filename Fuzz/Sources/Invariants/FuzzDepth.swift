// The depth to which an input is checked.

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The share of inputs that a target holds against its models, beside the checks that every input goes through.
public enum FuzzDepth {
    /// One input in this many; every one, unless the environment says otherwise, as `Scripts/fuzz.sh run` does.
    private static let stride: UInt64 = {
        guard let text = getenv("CHAPPIE_FUZZ_MODELS_EVERY"), let number = UInt64(String(cString: text)) else {
            return 1
        }
        return max(1, number)
    }()

    /// Returns whether an input goes through the models, or through what only one of `share` of those does.
    ///
    /// It follows from the input alone.
    public static func reachesModels(_ hash: InputHash, oneOf share: UInt64 = 1) -> Bool {
        guard self.stride > 1 else { return true }
        var copy = hash
        return (copy.next() >> 20) % (self.stride &* share) == 0
    }
}
