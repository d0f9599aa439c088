// The ticket of a turn, and the breaker of the engine that it comes from.

import Foundation
import StreamSession
import Testing

@testable import ChappieTransport

@Suite struct TurnTicketTests {
    private let clock = ManualClock()
    private let engine: Engine

    init() {
        var configuration = ChappieTransportConfiguration(baseURL: URL(filePath: "/"))
        configuration.circuitBreaker = ChappieCircuitBreakerPolicy(failureThreshold: 1, openDuration: .seconds(60))
        self.engine = Engine(
            configuration: configuration, transport: ScriptedTransport([], clock: self.clock),
            clock: self.clock.turnClock)
    }

    private func control() -> TurnControl { TurnControl(self.engine, requestID: "r", resuming: nil) }

    private func open() {
        var ticket = TurnTicket(self.engine, self.control())
        #expect(ticket.ask() == nil)
        ticket.answer(ChappieClientError.httpError(500, ""))
    }

    private var isClosed: Bool {
        var ticket = TurnTicket(self.engine, self.control())
        guard ticket.ask() == nil else { return false }
        ticket.answer(CancellationError())
        return true
    }

    @Test func refusalHasTheTimeUntilTheNextProbe() {
        self.open()
        self.clock.advance(by: .seconds(20))
        var ticket = TurnTicket(self.engine, self.control())
        #expect(ticket.ask() == .seconds(40))
    }

    @Test func firstContentOfAProbeClosesTheBreakerForGood() {
        self.open()
        self.clock.advance(by: .seconds(60))
        var probe = TurnTicket(self.engine, self.control())
        #expect(probe.ask() == nil)
        #expect(!self.isClosed)
        probe.serverAnswered()
        #expect(self.isClosed)
        probe.answer(ChappieClientError.httpError(500, ""))
        #expect(self.isClosed)
    }

    @Test func contentOfATurnThatIsNoProbeIsNotReportedToTheBreaker() {
        var ticket = TurnTicket(self.engine, self.control())
        #expect(ticket.ask() == nil)
        ticket.serverAnswered()
        ticket.answer(ChappieClientError.httpError(500, ""))
        #expect(!self.isClosed)
    }

    @Test func cancelledProbeLeavesTheProbeToAnotherTurn() {
        self.open()
        self.clock.advance(by: .seconds(60))
        let control = self.control()
        var probe = TurnTicket(self.engine, control)
        #expect(probe.ask() == nil)
        control.cancel()
        var other = TurnTicket(self.engine, self.control())
        #expect(other.ask() == nil)
        probe.answer(ChappieClientError.httpError(500, ""))
        other.serverAnswered()
        #expect(self.isClosed)
    }
}
