// The benchmark's own source of numbers: the same seed gives the same bytes on every machine.

/// SplitMix64, by Sebastiano Vigna: a sequence of 64-bit numbers that a seed determines.
struct SplitMix64 {
    private var state: UInt64

    /// The beginning of a seed's sequence.
    init(seed: UInt64) {
        self.state = seed
    }

    /// The next number.
    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed &>> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed &>> 31)
    }

    /// The next number, brought below a bound.
    mutating func next(below bound: Int) -> Int {
        Int(truncatingIfNeeded: self.next().multipliedFullWidth(by: UInt64(bound)).high)
    }
}
