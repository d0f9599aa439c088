// The errors of a plan, and the rules for plans.
//
// Pure.

extension FaultProxy {
    /// A plan that cannot be carried out as it is.
    public struct PlanError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The problem of a member.
        public enum Problem: Hashable, Sendable {
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

        /// The member, such as `faults[2].action.cut.atByte`; empty for the text as a whole.
        public let member: String
        /// The problem of the member.
        public let problem: Problem

        /// Creates an error.
        public init(member: String, problem: Problem) {
            self.member = member
            self.problem = problem
        }

        /// The description of the error, beginning with the member.
        public var description: String {
            let member = self.member.isEmpty ? "the plan" : self.member
            return switch self.problem {
            case .notJSON: "\(member) is not JSON"
            case .unknown: "\(member) is unknown"
            case .missing: "\(member) is missing"
            case .wrongType(let expected): "\(member) is not \(expected)"
            case .outOfRange(let expected): "\(member) must be \(expected)"
            case .notApplicable: "\(member) does not apply to this action"
            }
        }
    }
}

extension FaultProxy.Plan {
    /// Checks every number of the plan; throws for the first that is invalid.
    ///
    /// Reading a plan from JSON and starting a proxy do this by themselves.
    public func validate() throws(FaultProxy.PlanError) {
        for (index, fault) in self.faults.enumerated() {
            if let error = fault.error {
                throw .init(member: "faults[\(index)].\(error.member)", problem: error.problem)
            }
        }
    }
}

extension FaultProxy.Fault {
    /// The error of the first rule that the fault violates.
    fileprivate var error: FaultProxy.PlanError? {
        if self.firstConnection < 1 { return Self.outOfRange("firstConnection", "at least 1") }
        if let last = self.lastConnection, last < self.firstConnection {
            return Self.outOfRange("lastConnection", "at least firstConnection")
        }
        return self.actionError
    }

    private var actionError: FaultProxy.PlanError? {
        let path = "action.\(self.action.name)"
        switch self.action {
        case .cut(let offset), .reset(let offset), .halfOpen(let offset):
            return Self.offsetError("\(path).atByte", offset)
        case .stall(let offset, let duration):
            return Self.offsetError("\(path).atByte", offset)
                ?? duration.flatMap { Self.durationError("\(path).seconds", $0) }
        case .slice(let count, let offset):
            if count < 1 { return Self.outOfRange("\(path).byteCount", "at least 1") }
            return Self.offsetError("\(path).fromByte", offset)
        case .throttle(let rate, let offset):
            if !(rate.isFinite && rate >= Self.lowestRate) {
                return Self.outOfRange("\(path).bytesPerSecond", "at least \(Self.lowestRate)")
            }
            return Self.offsetError("\(path).fromByte", offset)
        case .corrupt(let offset, let mask):
            if mask == 0 { return Self.outOfRange("\(path).mask", "from 1 to 255") }
            return Self.offsetError("\(path).atByte", offset)
        case .delay(let duration): return Self.durationError("\(path).seconds", duration)
        case .refuse, .silence: return nil
        }
    }

    /// A byte in a thousand seconds: a lower rate is a stall.
    private static let lowestRate = 0.001

    private static func offsetError(_ member: String, _ offset: Int) -> FaultProxy.PlanError? {
        offset < 0 ? Self.outOfRange(member, "at least 0") : nil
    }

    private static func durationError(_ member: String, _ duration: Duration) -> FaultProxy.PlanError? {
        (Duration.zero...FaultProxy.longestDuration).contains(duration)
            ? nil : Self.outOfRange(member, "from 0 to 31536000")
    }

    private static func outOfRange(_ member: String, _ expected: String) -> FaultProxy.PlanError {
        .init(member: member, problem: .outOfRange(expected: expected))
    }
}

extension FaultProxy {
    /// A year: more than a test or a demonstration waits.
    static let longestDuration = Duration.seconds(31_536_000)
}
