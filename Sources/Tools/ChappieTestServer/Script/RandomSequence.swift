// Reproducible randomness: the same seed gives the same sequence on every machine.
//
// A value owned by the generator that uses it.

/// The SplitMix64 generator.
struct RandomSequence: RandomNumberGenerator {
    private var state: UInt64

    /// Starts at a seed; a stream number makes independent sequences of one seed.
    init(seed: UInt64, stream: UInt64 = 0) {
        self.state = seed &+ stream &* 0xD1B5_4A32_D192_ED03
        _ = self.next()
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// A number below `bound`, which is positive.
    mutating func below(_ bound: Int) -> Int { Int(self.next() % UInt64(bound)) }

    /// Text of hexadecimal digits.
    mutating func hexDigits(_ count: Int) -> String {
        let digits: StaticString = "0123456789abcdef"
        return String(unsafeUninitializedCapacity: count) { storage in
            for index in 0..<count { storage[index] = digits.utf8Start[self.below(16)] }
            return count
        }
    }
}
