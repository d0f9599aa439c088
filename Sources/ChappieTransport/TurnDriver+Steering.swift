import ResponseEvents
import StreamSession
import StreamTransport

/// Putting items into a response that is being made.
extension TurnDriver {
    // MARK: Anyone

    /// Puts items into the response that is being made.
    ///
    /// From then on the request is not sent again, because that would lose them: a failure ends the turn. A program that
    /// looks at requests is asked first, and the message goes out when it has agreed, if the response still runs then.
    package func steer(_ input: [UInt8]) throws {
        guard let items = SteeringMessage.items(of: input), input.count < RequestBodies.messageByteCountLimit else {
            throw ChappieSteeringError.invalidInput
        }
        let running = try self.shared.withLock { try $0.steering.running() }
        let message = SteeringMessage.json(previousResponseID: running.id, input: input)
        guard self.asksBeforeSending else { return try self.steer(message, items, responseID: running.id) }
        Task {
            do {
                guard try await self.mayGoOut(message) else { return }
                try self.steer(message, items, responseID: running.id)
            } catch is ChappieSteeringError {
                // The response was over before the program had agreed.
            } catch {
                self.steeringRefused(error)
            }
        }
    }

    private func steer(_ message: [UInt8], _ items: [[UInt8]], responseID: String) throws {
        let connection = try self.shared.withLock { shared in
            let running = try shared.steering.running()
            guard running.id == responseID, !shared.isCancelled else { throw ChappieSteeringError.notRunning }
            shared.steering.sent(items)
            return running.connection
        }
        connection.send(message, as: .text)
    }

    /// Ends the turn with what the program has thrown.
    private func steeringRefused(_ error: any Error) {
        self.shared.withLock { $0.steering.refusal = ChappieClientError.refusal(error) }
        self.cancel()
    }

    // MARK: The driver

    /// What a stop is to be told as.
    var stopReason: any Error { self.shared.withLock { $0.steering.refusal } ?? CancellationError() }

    /// The server has named the response: it can be steered.
    func noteSteerable(_ responseID: String) {
        guard let attempt = self.attempts.current, attempt.transport == .webSocket else { return }
        self.shared.withLock { $0.steering.target = .response(id: responseID, connection: attempt.connection) }
    }

    /// Nothing can be steered any more; a request that was is not sent again.
    func endSteering() {
        let isUsed = self.shared.withLock { shared in
            shared.steering.target = .none
            return shared.steering.isUsed
        }
        if isUsed { self.reader.machine.steered() }
    }

    /// Whether the server may still send something for a steering: then the connection is of no use to a later turn.
    var hasOpenSteering: Bool { self.shared.withLock { $0.steering.isOpen } }

    /// Tells of what the server says about a steering, if an event says that.
    func noteSteering(_ event: ResponseEvent, json: UnsafeRawBufferPointer) {
        guard self.shared.withLock({ $0.steering.isUsed }),
            let answer = unsafe SteeringMessage.answer(type: String(event.typeName), json: json)
        else { return }
        let transport = self.attempts.current?.transport
        switch answer {
        case .accepted:
            self.shared.withLock { $0.steering.accepted() }
            self.report(ChappieDiagnostic(kind: .steered, transport: transport))
        case .pending:
            // Some servers say this in place of `accepted`.
            self.shared.withLock { $0.steering.pending() }
            self.report(ChappieDiagnostic(kind: .steerPending, transport: transport))
        case .failed(let code):
            self.shared.withLock { $0.steering.refused() }
            self.report(ChappieDiagnostic(kind: .steerFailed, transport: transport, reason: code))
        }
    }

    /// Puts what the server has taken and not used behind a complete response: it goes with the next request.
    ///
    /// The connection is not used again, so the server has it once. What was not taken came too late.
    func keepUnusedSteering() {
        let unused = self.shared.withLock { $0.steering.unused }
        self.reader.record.leaves(unused.items)
        guard unused.hasOthers else { return }
        self.report(
            ChappieDiagnostic(
                kind: .steerFailed, transport: self.attempts.current?.transport, reason: "response_already_completed"))
    }

    /// Goes on with the successor of a response that has ended because it was steered; false for any other ending.
    func continuesSteered(_ summary: ResponseSummary, attempt: Int) -> Bool {
        guard summary.incompleteReason == "steered", self.shared.withLock({ $0.steering.isUsed }) else { return false }
        let items = self.shared.withLock { shared in
            shared.steering.target = .unnamed
            return shared.steering.takeUsed()
        }
        self.reader.record.steered(summary, with: items)
        self.reader.calls.restart()
        let action = self.reader.machine.successorFollows(attempt: attempt, after: summary.id ?? self.reader.responseID)
        if action != .ignore { self.action = action }
        self.reader.responseID = nil
        self.outgoing?.dropFinishedItems()
        self.reader.findings.hasGap = false
        return true
    }
}
