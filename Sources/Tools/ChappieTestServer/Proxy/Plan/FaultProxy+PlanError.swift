// The errors of a plan, and the rules for plans.
//
// Pure.

extension FaultProxy {
    /// A plan that cannot be carried out as it is.
    package struct PlanError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The problem of a member.
        package enum Problem: Hashable, Sendable {
            /// The text is not JSON.
            case notJSON
            /// The member, or the word, is unknown.
            case unknown
            /// The member is missing.
            case missing
            /// It has another type than the expected one.
            case wrongType(expected: String)
            /// It is out of range.
            case outOfRange(expected: String)
            /// It has no meaning beside the other members.
            case notApplicable
        }

        /// The first member that is wrong, such as `faults[2].action.cut.atByte`; empty for the text as a whole.
        package let member: String
        /// The problem of that member.
        package let problem: Problem
        /// All faults of the plan, each in a sentence that begins with its member, such as
        /// `faults[0].acton is unknown; did you mean action?`.
        package let faults: [String]

        /// Creates an error of one member.
        package init(member: String, problem: Problem) { self.init(FormFault(member, problem), others: []) }

        /// Creates an error of faults; nil when there are none.
        init?(_ faults: [FormFault]) {
            guard let first = faults.first else { return nil }
            self.init(first, others: faults.dropFirst())
        }

        private init(_ first: FormFault, others: ArraySlice<FormFault>) {
            self.member = first.member
            self.problem = first.problem
            self.faults = [first.description] + others.map(\.description)
        }

        /// The faults in one line; of many the first 20, and the number of the others.
        package var description: String { ChappieTestServer.Scenario.FormError(faults: self.faults).description }
    }
}

extension FaultProxy.PlanError.Problem {
    /// The words that follow the member in a description.
    var words: String {
        switch self {
        case .notJSON: "is not JSON"
        case .unknown: "is unknown"
        case .missing: "is missing"
        case .wrongType(let expected): "is not \(expected)"
        case .outOfRange(let expected): "must be \(expected)"
        case .notApplicable: "does not apply to this action"
        }
    }
}

extension FaultProxy.Plan {
    /// Checks every number of the plan; throws for those that are invalid.
    ///
    /// Reading a plan from JSON and starting a proxy do this by themselves.
    package func validate() throws(FaultProxy.PlanError) {
        let faults = self.faults.enumerated().flatMap { index, fault in
            fault.violatedRules.map { $0.within("faults[\(index)]") }
        }
        if let error = FaultProxy.PlanError(faults) { throw error }
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
