// The deadline of an exchange whose peer sends without end.
import StreamTransport
import Testing

@testable import ChappieDiagnosis

@Suite struct ExchangeDeadlineTests {
    /// A connection that has always another event.
    private final class FloodedConnection: TransportConnection {
        var statistics: TransportStatistics { TransportStatistics() }

        func next() -> TransportEvent? { .pong }
        nonisolated(nonsending) func wait(for duration: Duration?) async -> TransportWaitOutcome { .ready }
        func send(_ message: [UInt8], as kind: OutboundKind) {}
        func release() {}
        func ping() {}
        func close() {}
        func fail(code: UInt16) {}
        func cancel() {}
    }

    @Test func arrivingEventsDoNotOutlastTheDeadline() async throws {
        let exchange = ProbeExchange(connection: FloodedConnection())
        let event = try await exchange.next(by: .now + .seconds(60))
        #expect(event == .pong)
        let late = try await exchange.next(by: .now - ProbeExchange.margin)
        #expect(late == nil)
    }
}
