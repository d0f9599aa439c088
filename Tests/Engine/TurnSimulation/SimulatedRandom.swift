/// A small generator with a seed (Steele, Lea and Flood, 2014): the only source of chance in a simulation.
package struct SimulatedRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The same seed gives the same numbers.
    package init(seed: UInt64) { self.state = seed }

    /// The next number.
    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// A number from 0 to one less than the bound.
    package mutating func below(_ bound: Int) -> Int {
        // The high bits, scaled: a division would cost more than everything else here.
        Int(truncatingIfNeeded: UInt64(bound).multipliedFullWidth(by: self.next()).high)
    }

    /// Returns true with a probability of `percent` in a hundred.
    package mutating func chance(_ percent: Int) -> Bool { self.below(100) < percent }

    /// One of the elements, which must be some.
    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements[self.below(elements.count)] }

    /// A number from 0 to 1.
    package mutating func fraction() -> Double { Double(self.next() >> 11) / Double(1 << 53) }

    /// Returns a time from zero to a longest one, in microseconds.
    package mutating func duration(upTo longest: Duration) -> Duration {
        let microseconds = longest.components.seconds * 1_000_000 + longest.components.attoseconds / 1_000_000_000_000
        return .microseconds(self.below(Int(microseconds) + 1))
    }
}
