// The positions of a kept response, by the events that the consumer has taken.
import StreamSession
import Testing

@testable import ChappieTransport

@Suite struct ResumePointsTests {
    private static func cursor(_ number: Int) -> ResumeCursor {
        ResumeCursor(responseID: "r", lastSequenceNumber: number)
    }

    /// The positions of a response of which one event was handed over behind each number up to `last`.
    private static func points(upTo last: Int) -> ResumePoints {
        var points = ResumePoints()
        for number in 1...last {
            points.note(Self.cursor(number), waitingCount: 1, readyCount: 0)
            points.moved(1)
        }
        return points
    }

    @Test func heldPositionStaysUntilMoreIsTaken() {
        var points = Self.points(upTo: 2)
        points.hold(waitingCount: 0)
        #expect(points.newest(leaving: 0) == Self.cursor(2))
        // An event without output for the consumer.
        points.hold(waitingCount: 0)
        #expect(points.newest(leaving: 0) == Self.cursor(2))
        points.hold(waitingCount: 1)
        #expect(points.newest(leaving: 0) == Self.cursor(2))
        points.moved(1)
        #expect(points.newest(leaving: 1) == Self.cursor(2))
        #expect(points.newest(leaving: 0) == nil)
    }

    @Test func heldPositionIsNoneForEveryLaterEvent() {
        var points = Self.points(upTo: 1)
        for _ in 0..<3 {
            points.hold(waitingCount: 1)
            points.moved(1)
            #expect(points.newest(leaving: 0) == nil)
        }
    }

    @Test func noPositionIsHeldBeforeTheFirst() {
        var points = ResumePoints()
        points.hold(waitingCount: 1)
        points.moved(1)
        #expect(points.newest(leaving: 0) == nil)
    }

    /// The end of a response whose calls run then has none, also where nothing was taken since the held one.
    @Test func unknownPositionReplacesTheHeldOne() {
        var points = Self.points(upTo: 2)
        points.hold(waitingCount: 0)
        points.note(nil, waitingCount: 0, readyCount: 1)
        #expect(points.newest(leaving: 0) == nil)
        #expect(points.newest(leaving: 1) == Self.cursor(1))
    }
}
