// The table "Reconnecting" of EventSource.md, row by row. Without a suite's name, a test is in this file; the others
// are in EventSourceRuleTests (Rule), EventSourceRouteTests (Route) and EventSourceBadInputTests (BadInput).
//
// Connections that end are established again
//   in any way of ending           Rule.streamIsReestablishedHoweverItEnds
//   connections that fail          Rule.connectionThatBreaksBeforeAnAnswerIsReestablished,
//                                  Rule.serverThatIsUnreachableIsTriedAgain
//   not where it would be futile   Route.serverThatIsNotTrustedEndsIt,
//                                  BadInput.requestIsRepeatedBehindABadAnswerUnlessThatIsFutile
// The reconnection time
//   3 s, and up to 20 % more       reconnectionTimeHasJitter
//   set by `retry`                 reconnectionTimeHasJitter, Rule.streamSetsTheReconnectionTime
// Longer waits after failures      attemptsWithoutAStreamBackOff
// The last event ID
//   UTF-8, control characters      Rule.lastEventIDIsSent
//   4 KiB                          lastEventIDOfUpTo4KiBIsSent
// An incomplete event
//   is discarded                   Rule.eventThatIsCutIsDiscarded
//   an error without repetition    Rule.postIsNotRepeated
// 204                              Rule.statusCode204EndsIt
// Other answers
//   status codes                   Rule.otherStatusCodeEndsItWithTheAnswer
//   content types                  Rule.otherContentTypeEndsIt, Rule.contentTypeMayHaveParameters
//   `retriedStatusCodes`           Rule.statusCodeOfTheProgramsChoiceIsRetried
//   `Retry-After`                  retryAfterIsWaitedFor, retryAfterNeverShortensADelay
// Redirects
//   at most 20                     redirectsAreFollowed20Times
//   never from https to http       BadInput.redirectFromHTTPSToHTTPIsNotFollowed
//   credentials                    Route.redirectToAnotherOriginIsFollowedWithoutCredentials,
//                                  Route.credentialsDoNotComeBackWithTheFirstOrigin
//   permanent ones                 Route.redirectToAnotherOriginIsFollowedWithoutCredentials,
//                                  permanentRedirectIsRememberedOnlyBehindAStream

import EventSource
import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing
import TransportSurface

/// The reconnection rules whose delays and limits are those of the defaults, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct EventSourceReconnectionTests {
    /// The delays of an event source, which are over at once.
    private final class RecordedDelays: Sendable {
        private let state = LockedValue<[Duration]>([])

        var all: [Duration] { self.state.withLock { $0 } }

        /// A clock with the system's time, and the same randomness each time.
        func clock(fraction: Double) -> ClientClock {
            ClientClock(
                moment: ClientClock.system.moment, fraction: { fraction },
                sleep: { delay in self.state.withLock { $0.append(delay) } })
        }
    }

    /// Creates an event source with the default policy.
    private static func source(
        _ server: RawServer, _ delays: RecordedDelays, fraction: Double = 0.5,
        _ change: (inout EventSourceConfiguration) -> Void = { _ in }
    ) throws -> EventSource {
        var configuration = EventSourceConfiguration()
        change(&configuration)
        return EventSource(
            EventSourceRequest(url: try server.eventsURL), configuration: configuration,
            transport: LibwebsocketsTransport(), clock: delays.clock(fraction: fraction))
    }

    // MARK: Delays

    @Test(arguments: [
        ("data: a\n\n", 0, 3_000), ("data: a\n\n", 0.5, 3_300), ("data: a\n\n", 1, 3_600),
        ("retry: 500\ndata: a\n\n", 0, 500), ("retry: 500\ndata: a\n\n", 1, 600),
    ])
    func reconnectionTimeHasJitter(_ stream: String, _ fraction: Double, _ milliseconds: Int) async throws {
        let (server, delays) = (try RawServer(), RecordedDelays())
        let outcome = try Self.source(server, delays, fraction: fraction).reading()
        try await server.request().stream(stream)
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.data == ["a"])
        #expect(delays.all == [.milliseconds(milliseconds)])
    }

    /// The time that is added doubles from 1 s to 60 s, and begins again behind a stream that has brought something.
    @Test func attemptsWithoutAStreamBackOff() async throws {
        let (server, delays) = (try RawServer(), RecordedDelays())
        let outcome = try Self.source(server, delays).reading()
        for number in 0..<8 {
            let request = try await server.request()
            // Without an answer, and with a stream that is empty.
            if number.isMultiple(of: 2) { request.peer.close() } else { request.stream("") }
        }
        try await server.request().stream(":\n")
        try await server.request().peer.close()
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.error == nil)
        let added = [1, 2, 4, 8, 16, 32, 60, 60, 0, 1]
        #expect(delays.all == added.map { .milliseconds(3_300) + .seconds($0) })
    }

    @Test func retryAfterIsWaitedFor() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL) {
            $0.reconnection.retriedStatusCodes = [503]
        }.reading()
        let first = try await server.request()
        let start = ContinuousClock.now
        first.answer("503 Unavailable", ["Retry-After: 1"])
        let second = try await server.request()
        #expect(.now - start >= .seconds(1))
        second.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    /// The delay without the field is that of a first attempt without a stream.
    @Test(arguments: [("0", 4_300), ("4", 4_300), ("5", 5_000), ("300", 300_000)])
    func retryAfterNeverShortensADelay(_ value: String, _ milliseconds: Int) async throws {
        let (server, delays) = (try RawServer(), RecordedDelays())
        let outcome = try Self.source(server, delays) { $0.reconnection.retriedStatusCodes = [503] }.reading()
        try await server.request().answer("503 Unavailable", ["Retry-After: \(value)"])
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.error == nil)
        #expect(delays.all == [.milliseconds(milliseconds)])
    }

    // MARK: The last event ID

    @Test(arguments: [("x", 4_096, true), ("x", 4_097, false), ("ü", 2_048, true), ("ü", 2_049, false)])
    func lastEventIDOfUpTo4KiBIsSent(_ character: String, _ count: Int, _ isSent: Bool) async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL)
        let outcome = source.reading()
        let id = String(repeating: character, count: count)
        try await server.request().stream("id: \(id)\ndata: a\n\n")
        let second = try await server.request()
        #expect(second.value(of: "Last-Event-ID") == (isSent ? id : nil))
        second.answer("204 No Content")
        #expect(await outcome.value.events == [ServerSentEvent(data: "a", lastEventID: id)])
        #expect(source.report.hadUnsendableLastEventID == !isSent)
    }

    // MARK: Redirects

    @Test(arguments: [20, 21])
    func redirectsAreFollowed20Times(_ count: Int) async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL) { $0.reconnection = .never }
        let outcome = source.reading()
        for number in 1...count {
            try await server.request().answer("307 Temporary Redirect", ["Location: /\(number)"])
        }
        if count == 20 {
            let last = try await server.request()
            #expect(last.line == "GET /20")
            last.stream("data: a\n\n")
            #expect(await outcome.value.data == ["a"])
        } else {
            #expect(await outcome.value.error as? EventSourceError == .redirect(.tooMany, statusCode: 307))
            #expect(!server.hasConnection)
        }
        #expect(source.report.attempts.map(\.redirectCount) == [20])
    }

    @Test(arguments: [301, 308], [false, true])
    func permanentRedirectIsRememberedOnlyBehindAStream(_ statusCode: Int, hasStream: Bool) async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().answer("\(statusCode) Moved", ["Location: /new"])
        let second = try await server.request()
        #expect(second.line == "GET /new")
        if hasStream { second.stream("data: a\n\n") } else { second.peer.close() }
        let third = try await server.request()
        #expect(third.line == (hasStream ? "GET /new" : "GET /events?x=1"))
        third.answer("204 No Content")
        #expect(await outcome.value.data == (hasStream ? ["a"] : []))
    }
}
