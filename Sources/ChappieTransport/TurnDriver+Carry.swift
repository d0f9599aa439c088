import ResponseEvents
import StreamSession

/// Finished items of a broken response, given back to the server as input.
extension TurnDriver {
    /// Remembers a finished item, to give it back if the response breaks.
    ///
    /// A call may go back only with its output, so without a source of outputs it ends what can be carried. So does an
    /// item that no server takes back: the model makes it again, and what follows it as well.
    func noteFinished(_ item: ItemSummary, at outputIndex: Int, attempt: Int) {
        guard self.engine.configuration.policy.carriesFinishedItems, self.outgoing?.takesItems == true else { return }
        let json = unsafe Array(item.json.utf8)
        guard !item.isCall || self.toolOutput != nil, InputItem(json) != nil,
            self.reader.machine.itemFinished(outputIndex: outputIndex, attempt: attempt)
        else { return }
        self.outgoing?.finished(json, isCall: item.isCall)
    }

    /// The request's own source of outputs goes before the configuration's.
    private var toolOutput: ChappieTransportConfiguration.ToolOutputSource? {
        self.request.toolOutput ?? self.engine.configuration.toolOutput
    }

    /// A client's turn answers inside `next()`, and ends its waits by itself; a program may do neither.
    private func output(
        of call: String, _ source: @escaping ChappieTransportConfiguration.ToolOutputSource
    ) async throws -> [UInt8] {
        guard self.request.toolOutput == nil else { return try await source(call) }
        return try await self.answer { try await source(call) }
    }

    /// Puts finished items into the request, with the outputs of calls; false when that ends the turn.
    func carryItems(_ rung: TurnStateMachine.Opening.Rung) async -> Bool {
        var count = rung.carriedItemCount
        guard count > 0 else { return true }
        do {
            while let call = self.outgoing?.carryItems(&count) {
                guard let source = self.toolOutput else { continue }
                // From here on the call is settled: every later attempt has it and its output in the request.
                self.reader.machine.callCarried()
                self.outgoing?.carry(output: try await self.output(of: String(decoding: call, as: UTF8.self), source))
            }
        } catch {
            // A client's turn has its own reason, its time limit among them.
            if self.request.toolOutput == nil { self.endUnanswered(error) } else { self.end(.failed(error)) }
            return false
        }
        return true
    }
}
