// One turn and its consumer, who concatenates, runs tools, and sometimes goes away.

import ChappieTransport

/// Reads one turn.
struct SimulatedTurn {
    /// The behaviour of the consumer.
    private enum Behaviour {
        case reads
        case cancelsByHandle(inWait: Bool)
        case cancelsTask(inWait: Bool)
        case drops
        case neverReads
    }

    private let world: SimulatedWorld
    private let instance: ChappieStreamingTransport
    private let behaviour: Behaviour
    /// After how many events the consumer does what it does.
    private let patience: Int

    init(world: SimulatedWorld, instance: ChappieStreamingTransport) {
        self.world = world
        self.instance = instance
        self.patience = world.random.below(30)
        switch world.random.below(40) {
        case 0: self.behaviour = .cancelsByHandle(inWait: true)
        case 1: self.behaviour = .cancelsByHandle(inWait: false)
        case 2: self.behaviour = .cancelsTask(inWait: world.random.chance(50))
        case 3: self.behaviour = .drops
        case 4 where world.random.chance(20): self.behaviour = .neverReads
        default: self.behaviour = .reads
        }
    }

    /// Runs the turn to its end, and lets the checker look at what is left.
    func run() async {
        let world = self.world
        world.beginTurn()
        world.server.beginTurn(liePercent: world.settings.liePercent, options: world.options, &world.random)
        world.checker.began(world.settings.limits(now: world.now))
        let ending: PromiseChecker.Ending
        if case .cancelsTask = self.behaviour {
            ending = await self.readInTask()
        } else {
            ending = await self.read(self.instance.streamHandle(self.request()))
        }
        world.interruption = nil
        world.breakOff = {}
        world.calls = [:]
        world.lastEnd = world.now
        world.log("\(ending)")
        world.checker.finished(ending, now: world.now)
        world.checker.left()
        self.note(ending)
    }

    private func request() -> ChappieTransportRequest {
        if self.world.random.chance(1) {
            self.world.note(.invalidRequest)
            return ChappieTransportRequest(body: Array("[]".utf8))
        }
        let isOfResponses = self.world.settings.configuration.dialect == .responses
        guard isOfResponses, self.world.random.chance(20) else {
            return ChappieTransportRequest(prompt: "hi", model: "m")
        }
        self.world.note(.backgroundRequest)
        var request = ChappieTransportRequest(
            body: Array(#"{"model":"m","background":true,"store":true}"#.utf8))
        request.prompt = "hi"
        return request
    }

    // MARK: Reading

    private func readInTask() async -> PromiseChecker.Ending {
        let handle = LockedHandle(self.instance.streamHandle(self.request()))
        let task = Task { await self.read(handle.take()) }
        let world = self.world
        world.note(.cancelledByTask)
        if case .cancelsTask(inWait: true) = self.behaviour {
            world.interruption = SimulatedWorld.Interruption(at: self.momentOfInterruption()) {
                world.log("the task is cancelled")
                world.checker.cancelled()
                task.cancel()
            }
        }
        return await task.value
    }

    private func momentOfInterruption() -> Duration {
        let world = self.world
        return world.now
            + world.random.duration(
                upTo: world.random.pick([.zero, .milliseconds(50), .seconds(2), .seconds(30)]))
    }

    private func read(_ handle: ChappieStreamHandle) async -> PromiseChecker.Ending {
        let world = self.world
        world.breakOff = { handle.cancel() }
        self.prepare(handle)
        var count = 0
        do {
            for try await event in handle.events {
                world.step()
                world.log("delivered \(event)")
                world.record?.received(event)
                world.checker.received(self.output(of: event))
                // An engine that breaks a promise may go on for ever.
                if world.checker.violation != nil { return self.abandoned() }
                count += 1
                if count == self.patience + 1, self.losesPatience(with: handle) { return self.abandoned() }
            }
            self.note(handle.report)
            world.record?.ended(nil, isAbandoned: self.mayLackEnd)
            return .ended
        } catch {
            self.note(handle.report)
            world.record?.ended(error, isAbandoned: self.mayLackEnd)
            return self.ending(of: error)
        }
    }

    private func abandoned() -> PromiseChecker.Ending {
        self.world.record?.ended(nil, isAbandoned: true)
        return .abandoned
    }

    /// Indicates whether the consumer stops the stream, which then ends without an error.
    private var mayLackEnd: Bool { if case .reads = self.behaviour { false } else { true } }

    /// Does what the consumer does between two events; true when it goes away.
    private func losesPatience(with handle: ChappieStreamHandle) -> Bool {
        let world = self.world
        switch self.behaviour {
        case .drops:
            world.note(.dropped)
            world.checker.cancelled()
            return true
        case .cancelsByHandle(inWait: false):
            world.note(.cancelledBetweenEvents)
            self.cancel(handle)
        case .cancelsTask(inWait: false):
            world.log("the task cancels itself")
            world.checker.cancelled()
            withUnsafeCurrentTask { $0?.cancel() }
        case .reads, .cancelsByHandle(inWait: true), .cancelsTask(inWait: true), .neverReads:
            break
        }
        return false
    }

    private func prepare(_ handle: ChappieStreamHandle) {
        let world = self.world
        switch self.behaviour {
        case .cancelsByHandle(inWait: true):
            world.interruption = SimulatedWorld.Interruption(at: self.momentOfInterruption()) {
                world.note(.cancelledInWait)
                self.cancel(handle)
            }
        case .neverReads:
            world.note(.cancelledBeforeReading)
            self.cancel(handle)
        case .reads, .cancelsByHandle, .cancelsTask, .drops:
            break
        }
    }

    private func cancel(_ handle: ChappieStreamHandle) {
        self.world.log("the handle is cancelled")
        self.world.note(.cancelledByHandle)
        self.world.checker.cancelled()
        handle.cancel()
    }

    // MARK: What comes

    private func output(of event: ChappieStreamEvent) -> PromiseChecker.Output {
        switch event {
        case .textDelta(let text): .text(Array(text.utf8))
        case .refusalDelta(let text): .refusal(Array(text.utf8))
        case .reasoningDelta(let text): .reasoning(Array(text.utf8))
        case .restarted(let text): self.restarted(text)
        case .completed: .completed
        case .raw(let type, let payload): type == "response.output_item.done" ? self.call(in: payload) : .other
        case .diagnostic(let diagnostic): self.output(of: diagnostic)
        case .usageLimits: .other
        case .toolCallRequested, .approvalRequested, .toolCallCompleted:
            preconditionFailure("the engine runs no tools")
        }
    }

    private func restarted(_ text: String) -> PromiseChecker.Output {
        self.world.note(.restarted)
        return .restarted(text)
    }

    private func output(of diagnostic: ChappieDiagnostic) -> PromiseChecker.Output {
        switch diagnostic.kind {
        case .sequenceGap: self.world.note(.sequenceGap)
        case .stalled: self.world.note(.stalled)
        case .connected, .reconnecting, .fellBack, .resumed, .replayVerified, .unknownEvent, .steered, .steerPending,
            .steerFailed, .pathTimeLimit, .contentRewritten, .contentTypeMismatch, .rateLimited:
            break
        }
        return .other
    }

    /// Returns the call in a finished item; other parts of an item are irrelevant.
    private func call(in payload: String) -> PromiseChecker.Output {
        guard let start = payload.utf8Offset(behind: #""call_id":"call_"#) else { return .other }
        let digits = payload.utf8.dropFirst(start).prefix { $0 != UInt8(ascii: "\"") }
        guard let ordinal = Int(String(Substring(digits))), let json = self.world.calls[ordinal],
            json.contains(where: { $0.elementsEqual(payload.utf8) }),
            let content = self.world.checker.answerContent, ordinal < content.calls.count
        else {
            self.world.checker.mangled(payload)
            return .other
        }
        return .call(content.calls[ordinal])
    }

    private func ending(of error: any Error) -> PromiseChecker.Ending {
        if error is SimulatedCredentialError {
            self.world.note(.credentialErrorPassedOn)
            return .failed
        }
        return switch error {
        case is CancellationError: .cancelled
        case ChappieClientError.streamingTransportReplayDiverged(let text): .diverged(text)
        case ChappieClientError.transport(let failure): self.ending(of: failure)
        case let error as ChappieClientError: self.ending(of: error)
        default: .undocumented("\(error)")
        }
    }

    private func ending(of failure: ChappieTransportFailure) -> PromiseChecker.Ending {
        let world = self.world
        if failure.code == .responseExpired { world.note(.resumeExpired) }
        if failure.code == .outputTooLarge { world.note(.outputTooLarge) }
        if failure.code == .contradictoryEvents {
            world.note(.contradictoryEvents)
            world.checker.calledContradictory()
        }
        if failure.code == .circuitOpen {
            world.note(.circuitOpened)
            let breaker = world.settings.configuration.circuitBreaker
            // One turn runs at a time, so that no turn waits for the answer of another.
            let isExpected = world.lastEnd.map { world.now < $0 + breaker.openDuration } ?? false
            world.checker.refusedByCircuit(isExpected: isExpected && breaker.failureThreshold > 0)
        }
        return .transport(PromiseChecker.Safety(failure.replaySafety))
    }

    private func ending(of error: ChappieClientError) -> PromiseChecker.Ending {
        switch error {
        case .httpError: self.world.note(.httpError)
        case .usageLimitReached: self.world.note(.usageLimitReached)
        case .reauthenticationRequired: self.world.note(.reauthenticationRequired)
        case .responseTerminalFailure: self.world.note(.responseTerminalFailure)
        case .invalidResponse: self.world.note(.invalidResponse)
        case .transport, .streamingTransportReplayDiverged, .missingCredential, .missingRefreshToken,
            .missingAccountID, .missingToolHandler, .toolApprovalDenied, .toolExecutionFailed,
            .toolLoopLimitExceeded, .alreadyRunning, .alreadyRead, .runTimeLimitExceeded, .requestRefused:
            return .undocumented("\(error) for a stream")
        }
        return .failed
    }

    private func note(_ report: ChappieStreamReport) {
        let world = self.world
        guard let last = report.attempts.last else { return }
        if report.fallbackReason != nil { world.note(.fellBack) }
        if report.attempts.first?.transport == .httpSSE {
            world.note(.beganOnHTTP)
            self.noteProbes()
        }
        self.noteRecovery(report)
        if report.attempts.contains(where: \.reusedConnection) { world.note(.keptConnectionUsed) }
        if last.outcome == "timeout.total" { world.note(.endedInTotalBudget) }
        guard world.checker.hasCompleted else { return }
        world.note(last.transport == .webSocket ? .completedOverWebSocket : .completedOverHTTP)
        if world.server.hasContinuedReasoning { world.note(.continuedToEnd) }
        if report.attempts.count > 1 { world.note(.completedAfterFailure) }
        if report.verifiedReplayByteCount > 0 { world.note(.completedAfterReplay) }
        if last.transport == .httpSSE, world.connections.last(where: { !$0.isWebSocket })?.isResumption ?? false {
            world.note(.resumedToEnd)
        }
    }

    /// A turn that begins with HTTP opens a WebSocket for no request.
    private func noteProbes() {
        let world = self.world
        for connection in world.connections
        where connection.isWebSocket && connection.turn == world.coverage.turnCount {
            connection.isProbe = true
            world.note(.probe)
        }
    }

    private func noteRecovery(_ report: ChappieStreamReport) {
        let world = self.world
        let attempts = report.attempts
        for (index, attempt) in attempts.enumerated() {
            switch attempt.rung {
            case .sentAgain: world.note(.recoverySentAgain)
            case .resumed: world.note(.recoveryResumed)
            case .verifiedReplay: world.note(.recoveryVerified)
            case nil: break
            }
            switch attempt.outcome {
            case "kept": world.note(.upgradeKept)
            case "parked": world.note(.upgradeParked)
            case "replaced": world.note(.keptConnectionReplaced)
            default: break
            }
            guard attempt.isHedge else { continue }
            world.note(.hedgeOpened)
            switch attempt.outcome {
            case "lost-race": world.note(.hedgeLost)
            case "completed": world.note(.hedgeWon)
            case "cancelled", nil: break
            default:
                world.note(.hedgeFailed)
                if index > 0, attempts[index - 1].hasFailed { world.note(.bothOfRaceFailed) }
            }
        }
    }

    private func note(_ ending: PromiseChecker.Ending) {
        let world = self.world
        switch ending {
        case .ended: world.note(world.checker.hasCompleted ? .completed : .endedWhileCancelled)
        case .cancelled: world.note(.cancelled)
        case .diverged: world.note(.diverged)
        case .transport: world.note(.failedBelowHTTP)
        case .abandoned: world.note(.abandoned)
        case .failed, .undocumented: break
        }
    }
}

extension ChappieStreamReport.Attempt {
    fileprivate var hasFailed: Bool {
        switch self.outcome {
        case "kept", "parked", "lost-race", "completed", "cancelled", "replaced", nil: false
        default: true
        }
    }
}

extension PromiseChecker.Safety {
    fileprivate init(_ safety: ChappieTransportFailure.ReplaySafety) {
        switch safety {
        case .notSent: self = .notSent
        case .sentNoOutput: self = .sentNoOutput
        case .outputDelivered: self = .outputDelivered
        case .completed: self = .completed
        }
    }
}

/// Passes a handle to a task, without keeping it.
/// - Safety: touched on one thread.
private final class LockedHandle: @unchecked Sendable {
    private var handle: ChappieStreamHandle?

    init(_ handle: ChappieStreamHandle) { self.handle = handle }

    func take() -> ChappieStreamHandle {
        guard let handle = self.handle.take() else { preconditionFailure("a handle is taken once") }
        return handle
    }
}
