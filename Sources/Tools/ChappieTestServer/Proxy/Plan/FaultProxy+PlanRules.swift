// The rules for plans.
//
// Pure.

extension FaultProxy.Plan {
    /// Checks every number of the plan; throws for those that are invalid.
    ///
    /// Reading a plan from JSON and starting a proxy do this by themselves.
    package func validate() throws(FormError) {
        let faults = self.faults.enumerated().flatMap { index, fault in
            fault.violatedRules.map { $0.within("faults[\(index)]") }
        }
        if let error = FormError(faults) { throw error }
    }
}

extension FaultProxy.Fault {
    /// The rules that the fault violates.
    var violatedRules: [FormFault] {
        let path = "action.\(self.action.name)"
        var faults = [Self.range("firstConnection", "at least 1", self.firstConnection >= 1)]
        if let last = self.lastConnection {
            faults.append(Self.range("lastConnection", "at least firstConnection", last >= self.firstConnection))
        }
        func offset(_ member: String, _ offset: Int) { faults.append(Self.range(member, "at least 0", offset >= 0)) }
        func duration(_ duration: Duration) {
            let isInRange = (Duration.zero...FaultProxy.longestDuration).contains(duration)
            faults.append(Self.range("\(path).seconds", "from 0 to 31536000", isInRange))
        }
        switch self.action {
        case .cut(let start, _), .halfOpen(let start): offset("\(path).atByte", start)
        case .stall(let start, let length):
            offset("\(path).atByte", start)
            if let length { duration(length) }
        case .slice(let count, let start):
            faults.append(Self.range("\(path).byteCount", "at least 1", count >= 1))
            offset("\(path).fromByte", start)
        case .throttle(let rate, let start):
            let isInRange = rate.isFinite && rate >= ConnectionFault.lowestRate
            faults.append(Self.range("\(path).bytesPerSecond", "at least \(ConnectionFault.lowestRate)", isInRange))
            offset("\(path).fromByte", start)
        case .corrupt(let start, let mask):
            faults.append(Self.range("\(path).mask", "from 1 to 255", mask != 0))
            offset("\(path).atByte", start)
        case .delay(let length): duration(length)
        case .refuse, .silence: break
        }
        return faults.compactMap(\.self)
    }

    private static func range(_ member: String, _ expected: String, _ isInRange: Bool) -> FormFault? {
        isInRange ? nil : FormFault(member, .outOfRange(expected: expected))
    }
}

extension FaultProxy {
    /// A year: more than a test or a demonstration waits.
    static let longestDuration = Duration.seconds(31_536_000)
}
