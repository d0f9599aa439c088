import ChappieTransport
import PlatformFoundation
import ResponseEvents
import StreamTransport

/// The actions of a turn: requests to the model, tools, and approvals.
extension ConversationTurn {
    // MARK: Responses

    /// Begins the conversation's turn, and sends its first request.
    func begin() throws {
        self.reportBeginning()
        if self.shared.withLock({ $0.isCancelled }) { throw CancellationError() }
        let items = self.setup.composer.items(of: self.request)
        let admission = try self.setup.transport.admit(self.request.traceContext, of: self.watch.requestID) {
            [weak self] in self?.shutDown()
        }
        let turn = try self.conversation.begin()
        let isCancelled = self.shared.withLock { shared in
            guard !shared.isCancelled else { return true }
            shared.turn = turn
            shared.admission = admission
            shared.journal = TurnJournal(input: items)
            return false
        }
        // Cancelled in between: the turn has to be ended here, because no other call would.
        guard !isCancelled else {
            self.conversation.end(turn, adding: [])
            throw CancellationError()
        }
        self.number = turn.number
        self.startTimer()
        self.askModel(behind: turn.context, isFirst: true, fault: self.setup.fault(of: self.request))
    }

    /// Makes the next request from the context and the turn's items; a fault ends the turn without it.
    private func askModel(
        behind context: ChappieClientContext, isFirst: Bool = false, fault: ChappieArgumentError? = nil
    ) {
        let items = self.shared.withLock { shared in
            shared.journal?.close()
            return shared.journal?.items ?? []
        }
        let body = self.setup.composer.body(
            of: self.request, items: context.itemTexts + items, conversationID: context.id, isFirst: isFirst)
        var request = ChappieTransportRequest(body: body, of: self.request)
        request.fault = fault
        request.lane = self.request.lane ?? self.conversation.lane
        request.forkedFrom = self.conversation.forkedFrom
        request.requestID = self.watch.requestID
        request.turnState = self.turnState
        request.isAdmitted = true
        request.runsCalls = true
        request.answeredCalls = self.machine.answeredCalls
        request.toolOutput = { [weak self] call in
            guard let self else { throw CancellationError() }
            return try await self.output(ofCarriedCall: call)
        }
        self.respond(self.setup.transport.turn(request))
    }

    /// Returns the request that lets the server prepare a conversation's context; nil during a turn.
    static func warmUp(setup: TurnSetup, conversation: Conversation) -> ChappieTransportRequest? {
        guard !conversation.isRunning else { return nil }
        let context = conversation.context
        let own = ChappieResponseRequest([])
        var request = ChappieTransportRequest(
            body: setup.composer.body(of: own, items: context.itemTexts, conversationID: context.id))
        request.fault = setup.fault(of: own)
        request.lane = conversation.lane
        request.forkedFrom = conversation.forkedFrom
        return request
    }

    private func respond(_ driver: TurnDriver) {
        let isOver = self.shared.withLock { shared in
            if let before = shared.driver {
                var report = shared.finishedReport ?? before.report
                if shared.finishedReport != nil { report.append(before.report) }
                shared.finishedReport = report
            }
            shared.driver = driver
            shared.hasCarriedCalls = false
            return shared.isOver || shared.isLate
        }
        if isOver { driver.cancel() }
        self.phase = .responding(driver)
    }

    /// Records the items of a complete response, and returns the next actions.
    func responseCompleted(_ driver: TurnDriver) -> [ToolLoopStateMachine.Action] {
        guard let response = driver.completedResponse else { return [.fail(.invalidResponse)] }
        self.phase = .answering
        self.summary.add(response)
        self.turnState = response.turnState ?? self.turnState
        self.shared.withLock { $0.journal?.completed(response.items, calls: response.calls) }
        return self.machine.responseCompleted(calls: response.calls, endsTurn: response.endsTurn, now: self.now)
    }

    // MARK: Actions

    /// Performs an action that is not an event.
    func perform(_ action: ToolLoopStateMachine.Action) throws {
        switch action {
        case .deliver: preconditionFailure("events go to the consumer")
        case .ask(let number): self.ask(number)
        case .run(let number): self.run(number)
        case .record(let number, let output): self.record(number, output)
        case .askModel:
            guard let turn = self.shared.withLock({ $0.turn }) else { throw CancellationError() }
            self.askModel(behind: turn.context)
        case .finish: self.finish()
        case .fail(let error): throw error
        }
    }

    private func record(_ number: Int, _ output: ToolOutput) {
        let callID = self.machine.call(number).callID
        self.shared.withLock { $0.journal?.answered(callID, with: output.item) }
    }

    private func finish() {
        self.phase = .over
        let response = self.summary.response(text: "")
        self.shared.withLock { $0.response = response }
        // A consumer that receives the end may begin the next turn at once.
        self.settle()
        self.reportEnd(nil)
        self.actions.append(.deliver(.completed))
    }

    // MARK: Tools

    /// Asks for the approval of a call, in a task of its own.
    private func ask(_ number: Int) {
        guard let handler = self.setup.approvalHandler else { return }
        let call = self.machine.call(number)
        let request = ChappieApprovalRequest(
            callID: self.redaction.words(call.callID), name: call.name, arguments: call.payload)
        let inbox = self.inbox
        let task = ProgramTask {
            guard inbox.isOpen else { throw CancellationError() }
            return try await handler(request)
        } then: { result in
            switch result {
            case .success(.allowed): inbox.post(.answered(number, .approved))
            case .success(.refused(let reason)): inbox.post(.answered(number, .denied(reason)))
            case .failure(let error): inbox.post(.answered(number, .threw(Self.words(of: error))))
            }
        }
        inbox.hold(for: number) { task.giveUp() }
    }

    /// Runs a call in a task of its own.
    private func run(_ number: Int) {
        let call = self.machine.call(number)
        guard let tool = self.setup.tools[call.name] else { return }
        let inbox = self.inbox
        let byteCount = self.setup.limits.toolOutputByteCount
        let shownCallID = self.redaction.words(call.callID)
        let task = ProgramTask {
            // A cancelled call does not begin.
            guard inbox.isOpen else { throw CancellationError() }
            let result = try await tool.handler(
                ChappieToolCall(callID: shownCallID, name: call.name, arguments: call.payload))
            // A part that cannot be sent is the tool's defect, like an error that it throws.
            if let fault = result.fault { throw fault }
            return ToolOutput(result, of: call, byteCount: byteCount)
        } then: { [weak self] result in
            switch result {
            case .success(let output):
                // The output is recorded at once, because it was produced even if the turn ends first.
                self?.shared.withLock { $0.journal?.answered(call.callID, with: output.item) }
                inbox.post(.ended(number, .returned(output)))
            case .failure(let error):
                inbox.post(.ended(number, .threw(Self.words(of: error))))
            }
        }
        inbox.hold(for: number) { task.giveUp() }
    }

    /// Returns the text of an error, for the caller and for the log.
    private static func words(of error: any Error) -> String {
        (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
    }

    /// Waits until a tool or an approval has reported.
    func waitForTools() async throws {
        await self.inbox.wait()
        if self.shared.withLock({ $0.isCancelled }) || Task.isCancelled { throw CancellationError() }
        self.actions.append(contentsOf: self.takeMessages())
    }

    private func takeMessages() -> [ToolLoopStateMachine.Action] {
        let now = self.now
        return self.inbox.take().flatMap { message in
            switch message {
            case .ended(let number, let outcome): self.machine.ended(number, outcome, now: now)
            case .answered(let number, let answer): self.machine.answered(number, answer, now: now)
            case .timeLimitPassed: self.machine.timeLimitPassed(now: now)
            }
        }
    }

    // MARK: Calls that a broken response carries

    /// Returns the output of a finished call that is sent to the server in the middle of a response.
    ///
    /// The engine asks for it inside `next()`, so its events for the consumer come with the next event.
    private func output(ofCarriedCall json: String) async throws -> [UInt8] {
        guard let call = InputItem(json.utf8)?.call, !call.callID.isEmpty else {
            throw ChappieClientError.invalidResponse
        }
        self.shared.withLock { $0.hasCarriedCalls = true }
        let (number, actions) = self.machine.callCarried(call, now: self.now)
        try self.performAtOnce(actions)
        guard let number else { throw CancellationError() }
        while true {
            if let output = self.machine.output(of: number) { return output.item }
            await self.inbox.wait()
            if self.shared.withLock({ $0.isCancelled }) || Task.isCancelled { throw CancellationError() }
            try self.performAtOnce(self.takeMessages())
        }
    }

    /// Performs the pending actions, and keeps events for later.
    private func performAtOnce(_ actions: [ToolLoopStateMachine.Action]) throws {
        for action in actions {
            if case .deliver = action { self.actions.append(action) } else { try self.perform(action) }
        }
    }

    // MARK: The time limit

    private func startTimer() {
        guard let limit = self.setup.limits.duration else { return }
        let inbox = self.inbox
        let task = Task { [weak self] in
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            self?.stopResponse()
            inbox.post(.timeLimitPassed)
        }
        inbox.hold(for: -1) { task.cancel() }
    }

    /// Wakes a turn that waits for the server.
    private func stopResponse() {
        let driver = self.shared.withLock { shared in
            shared.isLate = true
            return shared.driver
        }
        driver?.cancel()
    }
}
