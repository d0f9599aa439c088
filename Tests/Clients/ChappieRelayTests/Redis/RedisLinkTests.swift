import ChappieRelay
import Testing

/// The decisions of a connection, with a clock that is a number.
@Suite struct RedisLinkTests {
    private static let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { Self.start + .seconds(seconds) }

    private func link(greeting: [RESPCommand] = [], purpose: RedisLink.Purpose = .requests) -> RedisLink {
        var settings = RedisLink.Settings()
        settings.greeting = greeting
        settings.purpose = purpose
        return RedisLink(settings: settings)
    }

    /// A link with a connection, and one request without an answer.
    private func sentOne() -> RedisLink {
        var link = self.link()
        link.submit([1], id: 1, at: self.at(0))
        link.connected(at: self.at(0))
        _ = link.takeActions()
        return link
    }

    @Test func requestsGoOutWhenTheGreetingIsAnsweredAndAnswersComeInOrder() {
        let auth = RESPCommand("AUTH", "x")
        var link = self.link(greeting: [auth])
        link.submit([1], id: 1, at: self.at(0))
        #expect(link.takeActions() == [.connect])
        link.submit([2], id: 2, at: self.at(0))
        #expect(link.takeActions() == [])
        link.connected(at: self.at(1))
        #expect(link.takeActions() == [.write(auth.bytes)])
        link.received(.simple("OK"), at: self.at(1), fraction: 0)
        #expect(link.takeActions() == [.write([1, 2])])
        link.submit([3], id: 3, at: self.at(1))
        #expect(link.takeActions() == [.write([3])])
        link.received(.integer(7), at: self.at(1), fraction: 0)
        link.received(.error("WRONGTYPE x"), at: self.at(1), fraction: 0)
        #expect(
            link.takeActions() == [.answer(request: 1, .integer(7)), .answer(request: 2, .error("WRONGTYPE x"))])
    }

    @Test func aRefusedLoginFailsWhatWaitsWithoutTheServersWords() {
        var link = self.link(greeting: [RESPCommand("AUTH", "canary")])
        link.submit([1], id: 1, at: self.at(0))
        link.connected(at: self.at(0))
        _ = link.takeActions()
        link.received(
            .error("ERR unknown command 'AUTH', with args beginning with: 'canary'"), at: self.at(0), fraction: 0)
        let actions = link.takeActions()
        #expect(actions.first == .disconnect && actions.count == 2)
        #expect(!"\(actions)".contains("canary"))
    }

    @Test func requestsWithoutAnAnswerAreSentAgainAtOnceAndThenWithDelays() {
        var link = self.sentOne()
        link.submit([2], id: 2, at: self.at(0))
        _ = link.takeActions()
        link.received(.integer(1), at: self.at(0), fraction: 0.5)
        link.connectionEnded("lost", at: self.at(1), fraction: 0.5)
        #expect(link.takeActions() == [.answer(request: 1, .integer(1)), .disconnect, .connect])
        link.connected(at: self.at(1))
        #expect(link.takeActions() == [.write([2])])
        // Without an answer in between the next attempt waits.
        link.connectionEnded("lost", at: self.at(1), fraction: 0.5)
        #expect(link.takeActions() == [.disconnect])
        #expect(link.deadline == self.at(1) + .milliseconds(100))
        link.timePassed(at: self.at(1.2), fraction: 0.5)
        #expect(link.takeActions() == [.connect])
    }

    @Test func aFailedAttemptFailsAllThatWaitAndTheNextOneWaits() {
        var link = self.link()
        link.submit([1], id: 1, at: self.at(0))
        link.submit([2], id: 2, at: self.at(0))
        _ = link.takeActions()
        link.connectionEnded("refused", at: self.at(0), fraction: 0.5)
        #expect(
            link.takeActions() == [
                .disconnect, .fail(request: 1, reason: "refused"), .fail(request: 2, reason: "refused"),
            ])
        #expect(link.deadline == nil)
        link.submit([3], id: 3, at: self.at(0.01))
        #expect(link.takeActions() == [])
        link.timePassed(at: self.at(0.06), fraction: 0.5)
        #expect(link.takeActions() == [.connect])
        link.connectionEnded("refused", at: self.at(0.06), fraction: 0.5)
        link.connectionEnded("late", at: self.at(0.06), fraction: 0.5)
        #expect(link.takeActions() == [.disconnect, .fail(request: 3, reason: "refused")])
    }

    @Test func theTimeOfARequestCountsOverAllConnections() {
        var link = self.sentOne()
        link.connectionEnded("lost", at: self.at(4), fraction: 0)
        _ = link.takeActions()
        link.timePassed(at: self.at(4.9), fraction: 0)
        #expect(link.takeActions() == [])
        link.timePassed(at: self.at(5), fraction: 0)
        #expect(link.takeActions() == [.fail(request: 1, reason: "no answer within 5.0 seconds")])
    }

    @Test func aLateAnswerIsNotTakenForAnotherRequests() {
        var link = self.sentOne()
        link.submit([2], id: 2, at: self.at(3))
        link.submit([3], id: 3, at: self.at(3))
        _ = link.takeActions()
        // Something arrives, so that the connection is alive.
        link.received(.integer(1), at: self.at(4), fraction: 0)
        _ = link.takeActions()
        link.timePassed(at: self.at(8), fraction: 0)
        #expect(
            link.takeActions() == [
                .fail(request: 2, reason: "no answer within 5.0 seconds"),
                .fail(request: 3, reason: "no answer within 5.0 seconds"),
            ])
        link.submit([4], id: 4, at: self.at(8.5))
        _ = link.takeActions()
        link.received(.integer(2), at: self.at(8.6), fraction: 0)
        link.received(.integer(3), at: self.at(8.6), fraction: 0)
        link.received(.integer(4), at: self.at(8.6), fraction: 0)
        #expect(link.takeActions() == [.answer(request: 4, .integer(4))])
    }

    @Test func aSilentConnectionIsGivenUpAndTheYoungerRequestsGoOverTheNextOne() {
        var link = self.sentOne()
        link.submit([2], id: 2, at: self.at(2))
        _ = link.takeActions()
        #expect(link.deadline == self.at(5))
        link.timePassed(at: self.at(5), fraction: 0)
        #expect(
            link.takeActions() == [.fail(request: 1, reason: "no answer within 5.0 seconds"), .disconnect, .connect])
        link.connected(at: self.at(5))
        #expect(link.takeActions() == [.write([2])])
    }

    @Test func aReplicaIsLeftWithItsAnswer() {
        var link = self.sentOne()
        link.received(.error("READONLY You can't write against a read only replica."), at: self.at(0), fraction: 0)
        let actions = link.takeActions()
        #expect(actions.count == 2 && actions.last == .disconnect)
    }

    @Test func garbageFailsAllRequests() {
        var link = self.sentOne()
        link.receivedGarbage("no RESP", at: self.at(0), fraction: 0)
        #expect(link.takeActions() == [.fail(request: 1, reason: "no RESP"), .disconnect])
    }

    @Test func anUnaskedAnswerEndsTheConnection() {
        var link = self.sentOne()
        link.received(.integer(1), at: self.at(0), fraction: 0)
        link.received(.integer(2), at: self.at(0), fraction: 0)
        #expect(link.takeActions() == [.answer(request: 1, .integer(1)), .disconnect])
    }

    @Test func aConnectionForMessagesIsPingedAndGivenUpWithoutAnAnswer() {
        var link = self.link(purpose: .messages)
        link.want(true, at: self.at(0))
        #expect(link.takeActions() == [.connect])
        link.connected(at: self.at(0))
        #expect(link.takeActions() == [.opened])
        link.received(.integer(1), at: self.at(1), fraction: 0)
        #expect(link.takeActions() == [.message(.integer(1))])
        #expect(link.deadline == self.at(11))
        link.timePassed(at: self.at(11), fraction: 0)
        #expect(link.takeActions() == [.write(RESPCommand("PING").bytes)])
        #expect(link.deadline == self.at(16))
        link.timePassed(at: self.at(16), fraction: 0)
        #expect(link.takeActions() == [.disconnect, .closed, .connect])
        link.connectionEnded("refused", at: self.at(16), fraction: 0)
        #expect(link.takeActions() == [.disconnect, .openingFailed(reason: "refused")])
    }

    @Test func anAttemptHasAnEnd() {
        var link = self.link()
        link.submit([1], id: 1, at: self.at(0))
        link.timePassed(at: self.at(5), fraction: 0)
        // The request's own time is over at the same moment.
        #expect(
            link.takeActions() == [.connect, .fail(request: 1, reason: "no answer within 5.0 seconds"), .disconnect])
    }

    @Test func aLinkThatIsShutDownFailsAllRequests() {
        var link = self.sentOne()
        link.shutDown()
        link.submit([2], id: 2, at: self.at(0))
        #expect(
            link.takeActions() == [
                .fail(request: 1, reason: "it was shut down"), .disconnect,
                .fail(request: 2, reason: "it was shut down"),
            ])
        link.shutDown()
        link.connected(at: self.at(0))
        link.timePassed(at: self.at(9), fraction: 0)
        #expect(link.takeActions() == [])
    }

    @Test func requestsThatWaitAreLimited() {
        var settings = RedisLink.Settings()
        settings.waitingByteCount = 2
        var link = RedisLink(settings: settings)
        link.submit([1, 2], id: 1, at: self.at(0))
        link.submit([3], id: 2, at: self.at(0))
        #expect(
            link.takeActions() == [.connect, .fail(request: 2, reason: "too many requests wait for an answer")])
        link.connected(at: self.at(0))
        link.received(.integer(1), at: self.at(0), fraction: 0)
        link.submit([3], id: 3, at: self.at(0))
        #expect(link.takeActions() == [.answer(request: 1, .integer(1)), .write([1, 2, 3])])
    }
}
