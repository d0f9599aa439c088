// The positions of a kept response, by the events that the consumer has taken.
import StreamSession
import Testing

@testable import ChappieTransport

@Suite struct ResumePointsTests {
    private static func cursor(_ number: Int) -> ResumeCursor {
        ResumeCursor(responseID: "r", lastSequenceNumber: number)
    }

    /// The positions of a response of which one event was taken behind each number up to `last`.
    private static func points(upTo last: Int) -> ResumePoints {
        var points = ResumePoints()
        for number in 1...last {
            points.note(Self.cursor(number), waitingCount: 1)
            points.taken(1)
        }
        return points
    }

    @Test func heldPositionStaysUntilMoreIsTaken() {
        var points = Self.points(upTo: 2)
        points.hold(waitingCount: 0)
        #expect(points.newest == Self.cursor(2))
        // An event without output for the consumer.
        points.hold(waitingCount: 0)
        #expect(points.newest == Self.cursor(2))
        points.hold(waitingCount: 1)
        #expect(points.newest == Self.cursor(2))
        points.taken(1)
        #expect(points.newest == nil)
    }

    @Test func eventsBehindAHeldPositionHaveNoPosition() {
        var points = Self.points(upTo: 1)
        for _ in 0..<3 {
            points.hold(waitingCount: 1)
            points.taken(1)
            #expect(points.newest == nil)
        }
    }

    @Test func noPositionIsHeldBeforeTheFirst() {
        var points = ResumePoints()
        points.hold(waitingCount: 1)
        points.taken(1)
        #expect(points.newest == nil)
    }

    /// A broken attempt's response is read again without numbers that are new, while events behind the position were
    /// taken.
    @Test func aResponseThatIsReadAgainHasNoPositionBehindAHeldOne() {
        var points = Self.points(upTo: 2)
        points.hold(waitingCount: 1)
        points.taken(1)
        #expect(points.newest == nil)
        for number in 1...2 {
            points.note(Self.cursor(number), waitingCount: 0)
            #expect(points.newest == nil)
        }
        points.note(Self.cursor(3), waitingCount: 0)
        #expect(points.newest == Self.cursor(3))
    }

    /// The end of a response whose calls run then has none, also where nothing was taken since the held one.
    @Test func unknownPositionReplacesTheHeldOne() {
        var points = Self.points(upTo: 1)
        points.note(Self.cursor(2), waitingCount: 1)
        points.hold(waitingCount: 1)
        points.note(nil, waitingCount: 1)
        #expect(points.newest == Self.cursor(1))
        points.taken(1)
        #expect(points.newest == nil)
    }
}
