// The broken promises of a run.
//
// Pure: what was served and what was seen in, faults out.
import ChappieTransport

/// A broken promise.
struct Violation: Sendable {
    /// The kind of the violation, as the totals count it.
    enum Kind: String, CaseIterable, Codable, Sendable {
        /// Output came twice.
        case duplicate = "duplicates"
        /// Output is missing.
        case gap = "gaps"
        /// Output of two responses is in one stream.
        case mixture = "mixtures"
        /// A tool was called twice.
        case doubleExecution = "double tool executions"
        /// The stream did not end in time.
        case hang = "hangs"
        /// Descriptors, threads or memory were not given back.
        case leak = "leaks"
        /// Another end than the required one, too many requests, or an event after the end.
        case other = "others"
    }

    /// The kind.
    var kind: Kind
    /// The description of the violation.
    var text: String
}

/// The end of a run without violations.
enum RunEnding: String, Sendable {
    /// The second answer continued the first.
    case recovered
    /// The second answer was refused.
    case diverged
    /// The answer that was read last contradicted itself.
    case contradicted
    /// The first answer was whole before the cut.
    case deliveredBeforeCut
    /// Neither.
    case failed
}

/// Judges one run.
struct Verdict {
    private let script: ReplayServer.Script
    private let replay: Replay
    private let transcript: Transcript
    private let observation: ReplayServer.Observation
    /// The violations.
    private(set) var violations: [Violation] = []
    /// The end of the run.
    private(set) var ending: RunEnding = .failed

    /// Judges a run.
    init(
        _ script: ReplayServer.Script, replay: Replay, transcript: Transcript, observation: ReplayServer.Observation
    ) {
        self.script = script
        self.replay = replay
        self.transcript = transcript
        self.observation = observation
        self.judgeRequests()
        self.judgeOrder()
        if observation.requestCount <= 1 { self.judgeFirstAttempt() } else { self.judgeRecovery() }
    }

    private mutating func fault(_ kind: Violation.Kind, _ text: String) {
        self.violations.append(Violation(kind: kind, text: text))
    }

    // MARK: Requests and order

    /// The most requests that a turn may make: a stalled client is so impatient that a busy machine costs it attempts.
    private var requestLimit: Int { self.script.cut.isStall ? 6 : 2 }

    /// The most attempts that the server need not have seen.
    ///
    /// An impatient client's time may be up before its request is read: such an attempt has a time limit as its
    /// outcome, and has received nothing. Of the attempts whose time was up, one was stalled, and seen.
    private var unseenAttemptLimit: Int {
        guard self.script.cut.isStall, let attempts = self.transcript.report?.attempts else { return 0 }
        let late = attempts.filter { $0.outcome?.contains("timeout") == true }
        return min(max(0, late.count - 1), late.count { $0.receivedByteCount == 0 })
    }

    private mutating func judgeRequests() {
        let count = self.observation.requestCount
        if count == 0 { self.fault(.other, "the server saw no request") }
        if count > self.requestLimit { self.fault(.other, "\(count) requests, \(self.requestLimit) are enough") }
        let attempts = self.transcript.report?.attempts.count ?? 0
        if !(0...self.unseenAttemptLimit).contains(attempts - count) {
            self.fault(.other, "\(attempts) attempts are reported and \(count) were seen")
        }
        // A client that has found a contradiction leaves before the end.
        let mayLeave = self.script.first.output.isContradicted && self.transcript.isContradicted
        if count == 1, !mayLeave, self.script.offset < self.script.first.earliestEnd {
            self.fault(.other, "no second attempt, though the first answer was cut")
        }
        let mustEnd = self.script.cut != .reset && self.script.offset >= self.script.first.latestEnd
        if count > 1, mustEnd { self.fault(.other, "a second attempt, though the first answer was whole") }
        if count > 0, self.observation.firstSentByteCount != self.script.offset {
            self.fault(.other, "\(self.observation.firstSentByteCount) bytes were sent before the cut")
        }
    }

    private mutating func judgeOrder() {
        var isComplete = false
        var restartCount = 0
        var executions: [ResponseOutput.Call: Int] = [:]
        for entry in self.transcript.entries {
            if isComplete { self.fault(.other, "something came after the end") }
            switch entry {
            case .completed: isComplete = true
            case .output(_, let text): if text.isEmpty { self.fault(.other, "an empty delta") }
            case .raw(_, let payload): if let call = self.call(payload) { executions[call, default: 0] += 1 }
            case .restarted: restartCount += 1
            case .reconnected: break
            }
        }
        if isComplete == (self.transcript.error != nil) {
            self.fault(.other, "neither completed nor failed, or both: \(self.errorText)")
        }
        if restartCount > (self.replay == .restarting ? 1 : 0) { self.fault(.other, "\(restartCount) restarts") }
        for (call, count) in executions where count > 1 {
            self.fault(.doubleExecution, "tool \(call.name) ran \(count) times")
        }
    }

    private func call(_ payload: String) -> ResponseOutput.Call? {
        self.script.first.output.callOfEvent[payload] ?? self.second.callOfEvent[payload]
            ?? self.script.fallback.output.callOfEvent[payload]
    }

    private var second: ResponseOutput { self.script.replay.output }

    private var errorText: String { self.transcript.error.map { String(describing: $0) } ?? "no error" }

    /// The text with which the stream diverged; nil when it ended otherwise.
    private var divergedText: String? {
        guard case .streamingTransportReplayDiverged(let text)? = self.transcript.error as? ChappieClientError else {
            return nil
        }
        return text
    }

    // MARK: The first attempt

    private mutating func judgeFirstAttempt() {
        if self.script.first.output.isContradicted { return self.judgeContradiction(self.script.first.output) }
        guard self.transcript.error == nil else { return self.fault(.other, "failed: \(self.errorText)") }
        self.ending = .deliveredBeforeCut
        self.judgeWhole(self.script.first.output, "the first answer")
        if self.transcript.entries.rawPayloads != self.script.first.output.raw {
            self.fault(.other, "the raw events are not the first answer's")
        }
    }

    /// Everything that was delivered, behind a restart if there is one, is everything of a response.
    private mutating func judgeWhole(_ output: ResponseOutput, _ name: String) {
        let entries = self.transcript.restart?.behind ?? self.transcript.entries[...]
        for channel in OutputChannel.allCases {
            let delivered = entries.bytes(channel)
            self.compare(delivered, with: output.bytes(channel), "\(channel.rawValue) of \(name)")
        }
        let calls = entries.rawPayloads.compactMap(self.call)
        if calls.count < output.calls.count {
            self.fault(.gap, "\(calls.count) tool calls of \(output.calls.count) of \(name)")
        } else if calls != output.calls {
            self.fault(.mixture, "the tool calls are not those of \(name)")
        }
    }

    private mutating func compare(_ delivered: [UInt8], with expected: [UInt8], _ name: String) {
        guard delivered != expected else { return }
        let common = zip(delivered, expected).prefix { $0 == $1 }.count
        let place = "\(name): byte \(common) of \(expected.count), \(delivered.count) delivered"
        if delivered.count < expected.count, expected.suffix(delivered.count - common) == delivered[common...] {
            self.fault(.gap, place)
        } else if delivered.count > expected.count,
            delivered.suffix(expected.count - common) == expected[common...]
        {
            self.fault(.duplicate, place)
        } else {
            self.fault(.mixture, place)
        }
    }

    /// The stream ended because of a contradiction, behind all output before it.
    private mutating func judgeContradiction(_ output: ResponseOutput) {
        guard self.transcript.isContradicted else {
            let kind: Violation.Kind = self.transcript.error == nil ? .mixture : .other
            return self.fault(kind, "an answer that contradicts itself, and the end is \(self.errorText)")
        }
        self.ending = .contradicted
        self.judgeWhole(output, "the answer that contradicts itself")
    }

    // MARK: Recovery

    private mutating func judgeRecovery() {
        guard let delivered = self.deliveredBeforeReconnection() else {
            return self.fault(.mixture, "what came before the cut is no beginning of the first answer")
        }
        // Of an answer that contradicts itself only what comes before is read, which may be less than was delivered.
        let isContradicted = self.second.isContradicted
        let isBeginning =
            delivered.isBeginning(of: self.second) || isContradicted && self.second.isBeginning(of: delivered)
        let isWhole = delivered.isBeginningByChannel(of: self.second)
        let mayContinue = isBeginning || isWhole || isContradicted && delivered.agreesByChannel(with: self.second)
        if let restart = self.transcript.restart {
            self.ending = .diverged
            if isBeginning { self.fault(.other, "restarted, though the second answer repeats what came before") }
            self.judgeVoid(restart.text, restart.before, delivered: delivered)
            self.judgeWhole(self.second, "the second answer")
            if self.transcript.error != nil { self.fault(.other, "failed: \(self.errorText)") }
        } else if isContradicted, mayContinue, self.divergedText == nil {
            self.judgeContradiction(isWhole ? self.second : delivered)
        } else if self.transcript.error == nil {
            self.ending = .recovered
            if !mayContinue { self.fault(.mixture, "completed, though the second answer contradicts what came before") }
            self.judgeWhole(self.second, "the second answer")
            if self.replay == .identical, self.transcript.entries.rawPayloads != self.second.raw {
                self.fault(.other, "the raw events are not the answer's")
            }
        } else if let text = self.divergedText, self.replay != .restarting {
            self.ending = .diverged
            if isBeginning { self.fault(.other, "diverged, though the second answer repeats what came before") }
            self.judgeVoid(text, self.transcript.entries[...], delivered: delivered)
        } else {
            self.fault(.other, "failed: \(self.errorText)")
        }
    }

    /// Returns the consumer's output from the first attempt; nil when the first answer does not begin like that.
    private func deliveredBeforeReconnection() -> ResponseOutput? {
        let entries = self.transcript.beforeReconnection
        var counts: [OutputChannel: Int] = [:]
        let whole = self.script.first.output
        for channel in OutputChannel.allCases {
            let bytes = entries.bytes(channel)
            guard whole.bytes(channel).starts(with: bytes) else { return nil }
            counts[channel] = bytes.count
        }
        let calls = entries.rawPayloads.compactMap { whole.callOfEvent[$0] }
        guard whole.calls.starts(with: calls) else { return nil }
        return whole.prefix(byteCounts: counts, callCount: calls.count)
    }

    /// Judges that only output before the cut was delivered, and that the error or the restart reports it.
    private mutating func judgeVoid(
        _ text: String, _ entries: ArraySlice<Transcript.Entry>, delivered: ResponseOutput
    ) {
        for channel in OutputChannel.allCases {
            self.compare(entries.bytes(channel), with: delivered.bytes(channel), "\(channel.rawValue) before the cut")
        }
        if entries.rawPayloads.compactMap(self.call) != delivered.calls {
            self.fault(.mixture, "a tool was called though the response diverged")
        }
        if !text.utf8.elementsEqual(delivered.bytes(.text)) {
            self.fault(.other, "another text is named than the one that was delivered")
        }
    }
}
