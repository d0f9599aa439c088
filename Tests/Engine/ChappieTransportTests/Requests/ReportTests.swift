// The time between batches in a report, and the combination of several responses' reports.
import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ReportTests {
    private static func gaps(
        _ steps: [ScriptStep], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    )
        async -> ChappieStreamReport.OutputGaps?
    {
        let fixture = TurnFixture([[.opened(101), .request] + steps + [.text(Event.completed)]], configure)
        return await fixture.run().report.gaps
    }

    private static let steps: [ScriptStep] = [
        .pause(.seconds(4)), .text(Event.text("a")), .pause(.milliseconds(30)), .text(Event.text("b")),
        .pause(.milliseconds(30)), .text(Event.text("c")), .pause(.milliseconds(30)), .text(Event.keepalive),
        .pause(.milliseconds(300)), .text(Event.text("d")), .pause(.seconds(3)),
    ]

    /// The waits for the first output and for the end are not included.
    @Test(arguments: [false, true]) func gapsAreFromOutputToOutput(reportsDiagnostics: Bool) async throws {
        let gaps = try #require(await Self.gaps(Self.steps) { $0.reportsDiagnostics = reportsDiagnostics })
        #expect(gaps.count == 3)
        #expect(gaps.longest == 0.33)
        #expect(abs(gaps.mean - 0.13) < 1e-9)
        #expect(gaps.p50 == 0.05)
        #expect(gaps.p99 == 0.33)
        #expect(gaps.histogram == [0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    }

    @Test func gapsNeedTwoBatchesOfOutput() async {
        #expect(await Self.gaps([]) == nil)
        #expect(await Self.gaps([.text(Event.text("a")), .pause(.seconds(1))]) == nil)
    }

    @Test func aReconnectionIsAGap() async {
        let fixture = TurnFixture([
            .broken(Event.created, Event.text("ab")), .webSocket(Event.text("abcd"), Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.report.gaps?.count == 1)
        #expect(outcome.report.gaps?.longest == 0.2)
    }

    @Test(arguments: ChappieStreamReport.OutputGaps.bounds)
    func gapEqualToABoundIsCountedInItsBucket(bound: Double) throws {
        var meter = OutputGapMeter()
        let zero = Moment(nanoseconds: 0)
        meter.received(at: zero)
        meter.received(at: Self.seconds(bound))
        meter.received(at: Self.seconds(bound * 2).advanced(byNanoseconds: 1))
        let histogram = try #require(meter.summary).histogram
        let index = try #require(ChappieStreamReport.OutputGaps.bounds.firstIndex(of: bound))
        #expect(histogram[index] == 1 && histogram[index + 1] == 1 && histogram.reduce(0, +) == 2)
    }

    @Test func negativeGapCountsAsZero() {
        var meter = OutputGapMeter()
        meter.received(at: Self.seconds(9))
        meter.received(at: Self.seconds(1))
        #expect(meter.summary?.longest == 0 && meter.summary?.count == 1)
    }

    @Test func outputGapsExcludeTheConsumersTime() {
        var meter = OutputGapMeter()
        meter.taken(at: Self.seconds(1))
        #expect(meter.summary == nil)
        meter.received(at: Self.seconds(2))
        meter.taken(at: Self.seconds(8))
        meter.received(at: Self.seconds(9))
        #expect(meter.summary?.longest == 1)
    }

    private static func seconds(_ count: Double) -> Moment { Moment(nanoseconds: Int64((count * 1e9).rounded())) }

    // MARK: Compression

    @Test func compressionRatioCoversAllReceivedBytes() {
        var report = ChappieStreamReport()
        #expect(report.compressionRatio == nil)
        report.attempts = [Self.attempt(1, received: 100), Self.attempt(2, received: 100, inflated: 700)]
        #expect(report.compressionRatio == 4)
        report.attempts.removeLast()
        #expect(report.compressionRatio == nil)
    }

    private static func attempt(_ number: Int, received: Int, inflated: Int? = nil) -> ChappieStreamReport.Attempt {
        var attempt = ChappieStreamReport.Attempt(number: number, transport: .webSocket)
        attempt.receivedByteCount = received
        attempt.inflatedByteCount = inflated
        return attempt
    }

    // MARK: Several responses

    @Test func attemptsGoOnCounting() {
        var report = ChappieStreamReport()
        var first = ChappieStreamReport()
        first.requestID = "id"
        first.attempts = [Self.attempt(1, received: 1), Self.attempt(3, received: 1), Self.attempt(2, received: 1)]
        first.reconnects = 2
        first.verifiedReplayByteCount = 5
        first.replaySafety = .completed
        first.gaps = .init(histogram: [1, 1], total: 0.003, longest: 0.002)
        report.append(first)
        #expect(report == first)
        var second = first
        second.requestID = "other"
        second.fallbackReason = "http.426"
        second.attempts = [Self.attempt(1, received: 1)]
        second.gaps = .init(histogram: [2], total: 0.001, longest: 0.0005)
        report.append(second)
        #expect(report.requestID == "id")
        #expect(report.attempts.map(\.number) == [1, 3, 2, 4])
        #expect(report.reconnects == 4 && report.verifiedReplayByteCount == 10)
        #expect(report.fallbackReason == "http.426")
        #expect(report.gaps?.count == 4 && report.gaps?.histogram == [3, 1] && report.gaps?.longest == 0.002)
        #expect(abs((report.gaps?.mean ?? 0) - 0.001) < 1e-12)
        report.append(ChappieStreamReport())
        #expect(report.gaps?.count == 4 && report.fallbackReason == "http.426")
    }

    @Test(
        arguments: [
            (.completed, .completed, .completed), (.completed, .notSent, .outputDelivered),
            (.completed, .sentNoOutput, .outputDelivered), (.completed, .outputDelivered, .outputDelivered),
            (.outputDelivered, .completed, .completed), (.sentNoOutput, .notSent, .sentNoOutput),
        ] as [(ChappieReplaySafety, ChappieReplaySafety, ChappieReplaySafety)])
    func aTurnIsAsSafeAsAllOfItsResponses(
        first: ChappieReplaySafety, second: ChappieReplaySafety, whole: ChappieReplaySafety
    ) {
        var report = ChappieStreamReport()
        var other = ChappieStreamReport()
        report.attempts = [Self.attempt(1, received: 0)]
        report.replaySafety = first
        other.replaySafety = second
        report.append(other)
        #expect(report.replaySafety == whole)
    }

    @Test func aReportIsWrittenAndReadAgain() async throws {
        let fixture = TurnFixture([[.opened(101), .request] + Self.steps + [.text(Event.completed)]])
        let report = await fixture.run().report
        let json = try JSONEncoder().encode(report)
        #expect(try JSONDecoder().decode(ChappieStreamReport.self, from: json) == report)
        #expect(String(decoding: json, as: UTF8.self).contains(#""p99":0.33"#))
    }
}
