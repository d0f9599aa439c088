// The log line and the measurement of a tool call that is over.
import ChappieTransport
import StreamTransport
import Testing
import TransportSurface

@testable import Chappie

@Suite struct ToolWatchTests {
    private static let categories: [(ChappieToolStatus, String, ChappieErrorCategory?)] = [
        (.completed, "completed", nil), (.failed, "tool.failed", .internal), (.denied, "tool.denied", .permission),
        (.cancelled, "cancelled", nil),
    ]

    @Test(arguments: categories)
    func failureHasTheCategoryOfItsError(
        _ status: ChappieToolStatus, outcome: String, category: ChappieErrorCategory?
    ) {
        let lines = LockedValue<[ChappieLogEntry]>([])
        let metrics = LockedValue<[ChappieMetric]>([])
        let watch = RequestWatch(
            requestID: "r1", log: { line in lines.withLock { $0.append(line) } },
            metrics: { metric in metrics.withLock { $0.append(metric) } })
        watch.note(
            ChappieToolExecutionResult(
                callID: "call_1", name: "f", status: status, output: "canary", duration: .seconds(2)),
            SecretRedaction([]))
        #expect(
            metrics.withLock { $0 } == [
                ChappieMetric(operation: "tool", duration: .seconds(2), outcome: outcome, category: category)
            ])
        let line = lines.withLock { $0.first }
        #expect(line?.category == category)
        #expect(line?.tag == (category == nil ? nil : outcome))
        #expect(line?.message.contains("canary") == false)
    }

    /// A call that fails without ending the turn has the category of the error that would end it.
    @Test func failedCallHasTheCategoryOfItsError() {
        #expect(Self.categories[1].2 == ChappieClientError.toolExecutionFailed("f", "").category)
        #expect(Self.categories[2].2 == ChappieClientError.toolApprovalDenied("f", "").category)
    }
}
