// The events of a probe server's stream, however its bytes are cut.
import PathDiagnosis
import StreamTransport
import Testing

@testable import ChappieDiagnosis

@Suite struct ProbeStreamTests {
    private static let text = "data: 0 0 xx\n\ndata: 1 100000 xx\n\ndata: 2 200000 xx\n\n"
    private static let head = ProbeExchange.Event.opened(ResponseHead(statusCode: 200))

    @Test(arguments: 0...ProbeStreamTests.text.utf8.count) func everyCutGivesTheSameEvents(at cut: Int) {
        let bytes = Array(Self.text.utf8)
        var stream = ProbeStream()
        let isLast1 = stream.receive(Self.head, after: .milliseconds(10))
        #expect(!isLast1)
        let isLast2 = stream.receive(.payload(Array(bytes[..<cut])), after: .milliseconds(20))
        #expect(!isLast2)
        let isLast3 = stream.receive(.payload(Array(bytes[cut...])), after: .milliseconds(30))
        #expect(!isLast3)
        let isLast4 = stream.receive(.ended(.complete), after: .milliseconds(40))
        #expect(isLast4)
        #expect(stream.facts.head == .milliseconds(10))
        #expect(stream.facts.end == .complete)
        #expect(stream.facts.arrivals.map(\.sent) == [.zero, .milliseconds(100), .milliseconds(200)])
        #expect(stream.facts.arrivals.allSatisfy { [.milliseconds(20), .milliseconds(30)].contains($0.received) })
        #expect(stream.facts.arrivals.last?.byteCount == bytes.count)
    }

    /// Without TLS's `close_notify` the end of a connection is a cut, and its stream may be complete.
    @Test(arguments: [(nil, false), (2, false), (1, true)] as [(Int?, Bool)])
    func lostConnectionIsCompleteWithAllRequestedEvents(askedCount: Int?, isComplete: Bool) {
        var stream = ProbeStream(askedCount: askedCount)
        _ = stream.receive(Self.head, after: .zero)
        _ = stream.receive(.payload(Array("data: 0 0 x\n\n".utf8)), after: .zero)
        let isLast = stream.receive(.ended(.failed(.init(phase: .stream, cause: .connectionLost))), after: .zero)
        #expect(isLast)
        #expect(stream.facts.end == .cut)
        #expect(stream.facts.isComplete == isComplete)
    }

    @Test func otherAnswersEndTheStream() {
        var refused = ProbeStream()
        let isLast5 = refused.receive(.opened(ResponseHead(statusCode: 502)), after: .zero)
        #expect(isLast5)
        #expect(refused.facts.end == .refused(statusCode: 502))
        // The engine reads a stream behind this code as well.
        var created = ProbeStream()
        let isLast8 = created.receive(.opened(ResponseHead(statusCode: 201)), after: .zero)
        #expect(!isLast8)
        var cut = ProbeStream()
        _ = cut.receive(Self.head, after: .zero)
        let isLast6 = cut.receive(.ended(.failed(.init(phase: .stream, cause: .connectionLost))), after: .zero)
        #expect(isLast6)
        #expect(cut.facts.end == .cut)
    }

    @Test func implausibleEventsAreLeftOut() {
        var stream = ProbeStream()
        let text = "data: 0\n\ndata: a b c\n\ndata: 1 -5 x\n\ndata: 1 99999999999999999999 x\n\ndata: 1 60000001 x\n\n"
        let isLast7 = stream.receive(.payload(Array(text.utf8)), after: .zero)
        #expect(!isLast7)
        #expect(stream.facts.arrivals.isEmpty)
    }

    @Test(
        arguments: [
            (nil, .timedOut), ("text/event-stream", .timedOut), ("Text/Event-Stream; charset=utf-8", .timedOut),
            ("text/html", .otherType(isPage: true)), ("application/json", .otherType(isPage: false)),
            ("text/plain", .timedOut), ("application/octet-stream", .timedOut),
        ] as [(String?, EventStreamFacts.End)])
    func theContentTypeIsThatOfEventStreamsOrAbsent(type: String?, end: EventStreamFacts.End) {
        var stream = ProbeStream()
        let fields = type.map { [HTTPField("content-type", $0)] } ?? []
        let isLast = stream.receive(.opened(ResponseHead(statusCode: 200, fields: fields)), after: .zero)
        #expect(stream.facts.end == end)
        #expect(isLast == (end != .timedOut))
    }

    /// The engine reads such a body as an event stream, and so does the examination.
    @Test(arguments: ["Text/Plain; charset=utf-8", "application/octet-stream"], 0...ProbeStreamTests.text.utf8.count)
    func streamOfAGeneralTypeIsReadByItsBeginning(type: String, cut: Int) {
        var stream = ProbeStream()
        let head = ResponseHead(statusCode: 200, fields: [HTTPField("content-type", type)])
        let bytes = Array(Self.text.utf8)
        for event in [.opened(head), .payload(Array(bytes[..<cut])), .payload(Array(bytes[cut...]))]
            as [ProbeExchange.Event]
        {
            let isLast = stream.receive(event, after: .zero)
            #expect(!isLast)
        }
        let isLast = stream.receive(.ended(.complete), after: .zero)
        #expect(isLast)
        #expect(stream.facts.end == .complete)
        #expect(stream.facts.arrivals.map(\.sent) == [.zero, .milliseconds(100), .milliseconds(200)])
        #expect(stream.facts.generalType == type.prefix { $0 != ";" }.lowercased())
    }

    @Test(arguments: ["<html></html>", #"{"error":"no"}"#, "not found", "dat", ""])
    func otherBodyOfAGeneralTypeIsNotRead(body: String) {
        var stream = ProbeStream()
        let head = ResponseHead(statusCode: 200, fields: [HTTPField("content-type", "text/plain")])
        _ = stream.receive(.opened(head), after: .zero)
        if !stream.receive(.payload(Array(body.utf8)), after: .zero) {
            _ = stream.receive(.ended(.complete), after: .zero)
        }
        #expect(stream.facts.end == .otherType(isPage: false))
        #expect(stream.facts.generalType == nil)
    }

    @Test func silenceIsTheTimeSinceTheLastBytes() {
        var stream = ProbeStream(askedCount: 2)
        _ = stream.receive(Self.head, after: .zero)
        _ = stream.receive(.payload(Array("data: 0 0 x\n\n".utf8)), after: .seconds(1))
        stream.stop(after: .seconds(3))
        #expect(stream.facts.silence == .seconds(2))
        _ = stream.receive(.ended(.complete), after: .seconds(3))
        #expect(stream.facts.end == .complete)
    }

    /// A flood of events, or of bytes without one, has no end of its own.
    @Test func moreThanWasAskedForEndsTheStream() {
        let event = "data: 1 1 x\n\n"
        #expect(Self.ends(of: [event + event, event], askedCount: 2) == [.timedOut, .excessive])
        // Two of them have less than a mebibyte.
        let comments = String(repeating: ": x\n\n", count: (1 << 19) / 5)
        let ends = Self.ends(of: [comments, comments, comments], askedCount: 2)
        #expect(ends == [.timedOut, .timedOut, .excessive])
    }

    /// The end of a stream after each part of it.
    private static func ends(of parts: [String], askedCount: Int) -> [EventStreamFacts.End] {
        var stream = ProbeStream(askedCount: askedCount)
        return parts.map { part in
            let isLast = stream.receive(.payload(Array(part.utf8)), after: .zero)
            #expect(isLast == (stream.facts.end != .timedOut))
            return stream.facts.end
        }
    }

    @Test func eventsHaveALimitOfSizeAndNumber() {
        var large = ProbeStream()
        let isLast8 = large.receive(
            .payload(Array("data: 0 0 ".utf8) + Array(repeating: 0x78, count: 70_000)), after: .zero)
        #expect(isLast8)
        #expect(large.facts.end == .cut)
        var many = ProbeStream()
        let text = String(repeating: "data: 1 1 x\n\n", count: 1_001)
        let isLast9 = many.receive(.payload(Array(text.utf8)), after: .zero)
        #expect(!isLast9)
        #expect(many.facts.arrivals.count == 1_000)
    }
}
