// What the parser has to reach, a workload each.

/// The least that a workload's figure may be.
struct Bar {
    /// What is asked for.
    enum Requirement {
        /// Bytes a second.
        case bytesPerSecond(Double)
        /// Events a second.
        case eventsPerSecond(Double)
        /// A share of another workload's bytes a second.
        case share(Double, of: Workload)
    }

    /// Which workload must reach it.
    let workload: Workload
    /// What it must reach.
    let requirement: Requirement

    /// All of them.
    static let all = [
        Self(workload: Workload(.modelDeltas), requirement: .bytesPerSecond(4e9)),
        Self(workload: Workload(.tinyEvents), requirement: .eventsPerSecond(60e6)),
        Self(workload: Workload(.longLines), requirement: .bytesPerSecond(4e9)),
        Self(workload: Workload(.multiLineData), requirement: .bytesPerSecond(2e9)),
        Self(workload: Workload(.modelDeltasCRLF), requirement: .share(0.8, of: Workload(.modelDeltas))),
        Self(workload: Workload(.modelDeltasCR), requirement: .share(0.5, of: Workload(.modelDeltas))),
        Self(workload: Workload(.modelDeltas, chunkByteCount: 37), requirement: .bytesPerSecond(0.7e9)),
        Self(workload: Workload(.modelDeltas, chunkByteCount: 1), requirement: .bytesPerSecond(95e6)),
    ]

    /// Calls of the allocator that an event may cost: none, but for a buffer that grows once in a while.
    ///
    /// It holds for every workload but those whose single event is larger than the memory that a parser keeps.
    static let allocationsPerEvent = 0.001

    /// The bar of a workload; nil when it has none.
    init?(of workload: Workload) {
        guard let bar = Self.all.first(where: { $0.workload == workload }) else { return nil }
        self = bar
    }

    private init(workload: Workload, requirement: Requirement) {
        self.workload = workload
        self.requirement = requirement
    }

    /// The workload that this one is compared with; nil when it stands for itself.
    var reference: Workload? {
        if case .share(_, let reference) = self.requirement { reference } else { nil }
    }

    /// The least bytes a second of a measurement, given what else was measured; nil when that cannot be said.
    func bytesPerSecond(of measurement: Measurement, among measurements: [Measurement]) -> Double? {
        switch self.requirement {
        case .bytesPerSecond(let least): least
        case .eventsPerSecond(let least): least * Double(measurement.byteCount) / Double(measurement.eventCount)
        case .share(let least, let reference):
            measurements.first { $0.workload == reference }.map { least * $0.bytesPerSecond }
        }
    }

    /// The bar in words.
    var text: String {
        switch self.requirement {
        case .bytesPerSecond(let least): ">= \(fixed(least / 1e6, 0)) MB/s"
        case .eventsPerSecond(let least): ">= \(fixed(least / 1e6, 0)) M events/s"
        case .share(let least, let reference): ">= \(fixed(least * 100, 0)) % of \(reference.name)"
        }
    }
}
