// The client's side: one turn, to its end, and what its consumer saw.

import ChappieTransport
import Dispatch
import Foundation

/// The events and the end of one turn, as its consumer received them.
struct EngineOutcome {
    var events: [ChappieStreamEvent] = []
    var deltas: [ConsumedDelta] = []
    var rawByteCount = 0
    var isCompleted = false
    var error: (any Error)?
    var report: ChappieStreamReport?
}

/// Runs a turn beside the thread that is the server.
final class EngineTurn: @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    /// Written before the semaphore is signalled, and read after.
    private var outcome = EngineOutcome()

    /// Begins; the turn connects to a port of this machine.
    init(_ input: EngineInput, port: UInt16) {
        let configuration = Self.configuration(input, port: port)
        let stops = input.ending == .cancel
        Task.detached {
            self.outcome = await Self.run(configuration, stopsAtFirstEvent: stops)
            self.semaphore.signal()
        }
    }

    /// Indicates whether the turn has ended.
    var hasEnded: Bool {
        guard self.semaphore.wait(timeout: .now()) == .success else { return false }
        self.semaphore.signal()
        return true
    }

    /// Waits for the end.
    func wait() -> EngineOutcome {
        let result = self.semaphore.wait(timeout: .now() + .seconds(deadlineSeconds * 2))
        require(result == .success, "the turn does not end")
        return self.outcome
    }

    private static func configuration(_ input: EngineInput, port: UInt16) -> ChappieTransportConfiguration {
        guard let url = URL(string: "http://127.0.0.1:\(port)/v1") else { preconditionFailure("not a URL") }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        configuration.policy = ChappieStreamingTransportPolicy(
            prefersWebSocket: input.isWebSocket, maxWebSocketReconnectionAttempts: 0,
            fallsBackToHTTPSSE: !input.isWebSocket)
        configuration.policy.hedgeDelay = nil
        configuration.maxHTTPRetries = 0
        configuration.rateLimitBackoff = .disabled
        configuration.circuitBreaker = .disabled
        configuration.proxy = .none
        configuration.offersCompression = input.offersCompression
        configuration.rawEvents = [.unsurfaced, .all, .none][input.rawEvents]
        configuration.reportsDiagnostics = input.reportsDiagnostics
        configuration.timeouts.pingInterval = nil
        // A server that holds is given up soon; any other ends the turn by itself.
        configuration.timeouts.total = input.isGivenUp ? .milliseconds(5) : .seconds(deadlineSeconds)
        if input.hasSmallLimits {
            configuration.limits.eventByteCount = EngineLimits.small
            configuration.limits.errorBodyByteCount = EngineLimits.small
            configuration.limits.highWatermark = 64
            configuration.limits.lowWatermark = 16
        }
        return configuration
    }

    private static func run(
        _ configuration: ChappieTransportConfiguration, stopsAtFirstEvent: Bool
    ) async -> EngineOutcome {
        weak var remains: ChappieStreamingTransport?
        let outcome = await {
            let transport = ChappieStreamingTransport(configuration: configuration)
            remains = transport
            return await self.consume(transport, stopsAtFirstEvent: stopsAtFirstEvent)
        }()
        require(remains == nil, "a turn that has ended keeps its transport")
        return outcome
    }

    private static func consume(
        _ transport: ChappieStreamingTransport, stopsAtFirstEvent: Bool
    ) async -> EngineOutcome {
        var outcome = EngineOutcome()
        let handle = transport.streamHandle(ChappieTransportRequest(prompt: "x"))
        var events = handle.events.makeAsyncIterator()
        do {
            while let event = try await events.next() {
                require(!outcome.isCompleted, "\(event) comes after the end")
                outcome.note(event)
                if stopsAtFirstEvent { handle.cancel() }
            }
            require(outcome.isCompleted, "the stream ends without an end")
        } catch {
            require(!outcome.isCompleted, "\(error) comes after the end")
            outcome.error = error
        }
        for _ in 0..<2 {
            let more = try? await events.next()
            require(more == nil, "something comes after the end")
        }
        outcome.report = handle.report
        return outcome
    }
}

/// The sizes that a server may send when limits are small.
enum EngineLimits {
    static let small = 300
}

extension EngineOutcome {
    fileprivate mutating func note(_ event: ChappieStreamEvent) {
        self.events.append(event)
        switch event {
        case .textDelta(let text): self.note(.text, text)
        case .reasoningDelta(let text): self.note(.reasoning, text)
        case .refusalDelta(let text): self.note(.refusal, text)
        case .raw(_, let payload): self.rawByteCount = max(self.rawByteCount, payload.utf8.count)
        case .usageLimits, .diagnostic: return
        case .toolCallRequested, .approvalRequested, .toolCallCompleted, .restarted:
            preconditionFailure("the engine runs no tools, and restarts no answer without a policy for it")
        case .completed: self.isCompleted = true
        }
    }

    private mutating func note(_ kind: ConsumedDelta.Kind, _ text: String) {
        require(!text.isEmpty, "an empty delta")
        self.deltas.append(ConsumedDelta(kind: kind, text: Array(text.utf8)))
    }
}
