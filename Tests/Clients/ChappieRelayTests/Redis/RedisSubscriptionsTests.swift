import ChappieRelay
import Testing

@Suite struct RedisSubscriptionsTests {
    private static let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { Self.start + .seconds(seconds) }

    private func message(_ kind: String, _ channel: String) -> RESPValue {
        .array([.bulk(Array(kind.utf8)), .bulk(Array(channel.utf8)), .integer(1)])
    }

    private func subscribed() -> RedisSubscriptions {
        var subscriptions = RedisSubscriptions()
        subscriptions.add("a", listener: 1, at: self.at(0))
        subscriptions.opened()
        subscriptions.received(self.message("subscribe", "a"))
        _ = subscriptions.takeActions()
        return subscriptions
    }

    @Test func aListenerBeginsWithTheConfirmation() {
        var subscriptions = RedisSubscriptions()
        #expect(!subscriptions.isNeeded)
        subscriptions.add("a", listener: 1, at: self.at(0))
        #expect(subscriptions.isNeeded && subscriptions.takeActions() == [])
        subscriptions.opened()
        subscriptions.add("b", listener: 2, at: self.at(0))
        #expect(
            subscriptions.takeActions() == [
                .write(RESPCommand("SUBSCRIBE", "a").bytes), .write(RESPCommand("SUBSCRIBE", "b").bytes),
            ])
        subscriptions.received(self.message("subscribe", "a"))
        subscriptions.add("a", listener: 3, at: self.at(0))
        subscriptions.received(self.message("message", "a"))
        #expect(
            subscriptions.takeActions() == [.begin(listener: 1), .begin(listener: 3), .changed("a")])
        subscriptions.received(self.message("message", "unknown"))
        subscriptions.received(.simple("PONG"))
        #expect(subscriptions.takeActions() == [])
    }

    @Test func listenersLookThemselvesBehindAGap() {
        var subscriptions = self.subscribed()
        subscriptions.closed()
        #expect(subscriptions.takeActions() == [])
        subscriptions.opened()
        subscriptions.received(self.message("subscribe", "a"))
        #expect(subscriptions.takeActions() == [.write(RESPCommand("SUBSCRIBE", "a").bytes), .changed("a")])
    }

    @Test func aFailedConnectionFailsThoseThatBeginAndWakesTheOthers() {
        var subscriptions = self.subscribed()
        subscriptions.closed()
        subscriptions.add("a", listener: 2, at: self.at(0))
        subscriptions.add("b", listener: 3, at: self.at(0))
        subscriptions.openingFailed("refused")
        #expect(
            subscriptions.takeActions() == [
                .fail(listener: 2, reason: "refused"), .changed("a"), .fail(listener: 3, reason: "refused"),
            ])
        #expect(subscriptions.isNeeded)
    }

    @Test func aRefusedSubscriptionFails() {
        var subscriptions = RedisSubscriptions()
        subscriptions.add("a", listener: 1, at: self.at(0))
        subscriptions.opened()
        _ = subscriptions.takeActions()
        subscriptions.received(.error("NOPERM this user has no permissions to access one of the channels"))
        let actions = subscriptions.takeActions()
        #expect(actions.count == 1 && "\(actions)".contains("NOPERM"))
        #expect(!subscriptions.isNeeded)
    }

    @Test func aChannelStaysForAWhileBehindItsLastListener() {
        var subscriptions = self.subscribed()
        subscriptions.remove("a", at: self.at(1))
        #expect(subscriptions.deadline == self.at(11))
        subscriptions.add("a", listener: 2, at: self.at(8))
        #expect(subscriptions.takeActions() == [.begin(listener: 2)])
        subscriptions.remove("a", at: self.at(9))
        subscriptions.timePassed(at: self.at(11))
        #expect(subscriptions.takeActions() == [] && subscriptions.deadline == self.at(21))
        subscriptions.timePassed(at: self.at(21))
        #expect(subscriptions.takeActions() == [.write(RESPCommand("UNSUBSCRIBE", "a").bytes)])
        #expect(subscriptions.deadline == nil && !subscriptions.isNeeded)
    }
}
