import ChappieTransport
import LibwebsocketsTransport
import PathDiagnosis
import StreamTransport

/// Gathers the facts of a path, step by step.
///
/// It belongs to one task. It draws no conclusions except whether a later step makes sense.
struct Examination {
    let requests: ProbeRequests
    let pace: ExaminationPace
    let transport: LibwebsocketsTransport
    /// The beginning, from which the times of steps count.
    let started = ContinuousClock.now
    var facts = PathFacts()
    /// The proxy; nil for none.
    var proxy: ProxyServer?
    /// Indicates whether a probe server has answered.
    var isProbe = false
    /// The time of the server's first answer; zero before it, and without one.
    var firstAnswer = Duration.zero
    /// The silences to try.
    let holds: [Duration]
    /// The failure of the credential's source.
    let inquiry: CredentialInquiry
    /// The answer of the credential's source; nil before it was asked.
    private var answerOfSource: ChappieCredential??

    /// Creates an examination that begins now.
    init(_ requests: ProbeRequests, pace: ExaminationPace, inquiry: CredentialInquiry, holds: [Duration] = []) {
        self.holds = holds
        self.inquiry = inquiry
        self.requests = requests
        self.pace = pace
        self.transport = requests.transport
        self.facts.isSecure = requests.endpoint.isSecure
    }

    /// Examines every step that makes sense, and returns the facts.
    mutating func run() async throws -> PathFacts {
        self.examineEnvironment()
        guard self.facts.environment.fault == nil else { return self.facts }
        if try await self.examineReaching(), self.facts.environment.fault == nil {
            try await self.examineAnswering()
            try await self.examineIdle()
        }
        try await self.examineWithoutProxy()
        return self.facts
    }

    /// Returns the credential; nil without one, or when its source fails.
    ///
    /// The source is asked once, however many requests need the credential.
    mutating func credential() async throws(CancellationError) -> ChappieCredential? {
        if let answer = self.answerOfSource { return answer }
        let answer = try await self.requests.credential()
        self.answerOfSource = .some(answer)
        return answer
    }

    // MARK: Time

    /// The time that is left of the whole.
    var left: Duration { self.started + self.pace.total - .now }

    /// The time for the next step; nil when too little is left.
    var budget: Duration? { self.pace.budget(withLeft: self.left, after: self.firstAnswer) }

    /// Returns the time of a step that began at `start` and ends now.
    func time(since start: ContinuousClock.Instant) -> StepTime {
        StepTime(start: start - self.started, duration: .now - start)
    }

    /// Notes a fault of the process or its settings; returns whether a failure is one.
    mutating func noteEnvironment(_ failure: TransportFailure) -> Bool {
        guard let fault = failure.environmentFault else { return false }
        self.facts.environment.fault = fault
        return true
    }
}
