// The bars of the parser, by workload.

/// The least speed of a workload.
struct Bar {
    /// The kind of a bar.
    enum Requirement {
        /// Bytes a second.
        case bytesPerSecond(Double)
        /// Events a second.
        case eventsPerSecond(Double)
        /// A share of another workload's bytes a second.
        case share(Double, of: Workload)
    }

    /// The workload that it applies to.
    let workload: Workload
    /// The least speed.
    let requirement: Requirement

    /// All bars.
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

    /// The most calls of the allocator for an event: none, except for a buffer that grows now and then.
    ///
    /// It applies to every workload except those with events larger than the memory that a parser keeps.
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

    /// The workload that this one is compared with; nil when there is none.
    var reference: Workload? {
        if case .share(_, let reference) = self.requirement { reference } else { nil }
    }

    /// The least bytes a second of a measurement; nil when the workload that it is compared with was not measured.
    func bytesPerSecond(of measurement: Measurement, among measurements: [Measurement]) -> Double? {
        switch self.requirement {
        case .bytesPerSecond(let least): least
        case .eventsPerSecond(let least): least * Double(measurement.byteCount) / Double(measurement.eventCount)
        case .share(let least, let reference):
            measurements.first { $0.workload == reference }.map { least * $0.bytesPerSecond }
        }
    }

    /// A description of the bar.
    var text: String {
        switch self.requirement {
        case .bytesPerSecond(let least): ">= \(fixed(least / 1e6, 0)) MB/s"
        case .eventsPerSecond(let least): ">= \(fixed(least / 1e6, 0)) M events/s"
        case .share(let least, let reference): ">= \(fixed(least * 100, 0)) % of \(reference.name)"
        }
    }
}
