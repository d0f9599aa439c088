/// Decides which channels of the server are listened to, and whom their messages concern.
///
/// A channel stays subscribed for a while behind its last listener, since a reader listens again with each of its
/// steps. It performs no I/O and reads no clock. Its owner is the journal's thread.
package struct RedisSubscriptions: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The actions that the driver must perform.
    package enum Action: Sendable, Equatable {
        /// Write bytes, if there is a connection.
        case write([UInt8])
        /// Tell a listener that no change is missed from now on.
        case begin(listener: UInt64)
        /// Tell a listener that it cannot listen.
        case fail(listener: UInt64, reason: String)
        /// Wake those that listen to a channel.
        case changed(String)
    }

    private struct Channel {
        var listenerCount = 0
        var isConfirmed = false
        /// Indicates whether changes may have been missed before the confirmation.
        var hasGap = false
        var beginning: [UInt64] = []
        var lastUse: Instant
    }

    /// The time for which a channel without listeners stays subscribed.
    private static let patience = Duration.seconds(10)
    /// The channels of one command.
    private static let commandSize = 500

    private var channels: [String: Channel] = [:]
    private var isOpen = false
    private var nextSweep: Instant?
    private var actions: [Action] = []

    /// Creates a value without channels.
    package init() {}

    /// Indicates whether a connection is needed.
    package var isNeeded: Bool { !self.channels.isEmpty }

    /// The time at which `timePassed` has something to do.
    package var deadline: Instant? { self.nextSweep }

    /// Returns the actions of the inputs so far.
    package mutating func takeActions() -> [Action] {
        defer { self.actions = [] }
        return self.actions
    }

    /// Begins to listen.
    package mutating func add(_ name: String, listener: UInt64, at now: Instant) {
        var channel = self.channels[name] ?? Channel(lastUse: now)
        let isNew = self.channels[name] == nil
        channel.listenerCount += 1
        channel.lastUse = now
        if channel.isConfirmed {
            self.actions.append(.begin(listener: listener))
        } else {
            channel.beginning.append(listener)
        }
        self.channels[name] = channel
        if isNew, self.isOpen { self.actions.append(.write(RESPCommand("SUBSCRIBE", name).bytes)) }
    }

    /// Ends to listen, for one listener that was added and has not failed.
    package mutating func remove(_ name: String, at now: Instant) {
        self.channels[name]?.listenerCount -= 1
        self.channels[name]?.lastUse = now
        if self.nextSweep == nil { self.nextSweep = now + Self.patience }
    }

    /// There is a connection, on which nothing is subscribed yet.
    package mutating func opened() {
        self.isOpen = true
        let names = self.channels.keys.sorted()
        for start in stride(from: 0, to: names.count, by: Self.commandSize) {
            let some = names[start..<min(start + Self.commandSize, names.count)]
            self.actions.append(.write(RESPCommand(["SUBSCRIBE"] + some, []).bytes))
        }
    }

    /// The connection has ended.
    package mutating func closed() {
        self.isOpen = false
        for name in self.channels.keys where self.channels[name]?.isConfirmed == true {
            self.channels[name]?.isConfirmed = false
            self.channels[name]?.hasGap = true
        }
    }

    /// No connection could be made: those that begin fail, and the others look for themselves.
    package mutating func openingFailed(_ reason: String) {
        for (name, channel) in self.channels.sorted(by: { $0.key < $1.key }) {
            self.fail(name, channel, reason)
            if self.channels[name] != nil { self.actions.append(.changed(name)) }
        }
    }

    private mutating func fail(_ name: String, _ channel: Channel, _ reason: String) {
        for listener in channel.beginning { self.actions.append(.fail(listener: listener, reason: reason)) }
        let remaining = channel.listenerCount - channel.beginning.count
        if remaining == 0 {
            self.channels[name] = nil
        } else {
            self.channels[name]?.listenerCount = remaining
            self.channels[name]?.beginning = []
        }
    }

    /// A message has come.
    package mutating func received(_ value: RESPValue) {
        switch value {
        case .error(let error):
            // The server does not say for which channel: none can be listened to.
            let reason = RedisRefusal.reason(ofGreeting: error)
            for (name, channel) in self.channels.sorted(by: { $0.key < $1.key }) where !channel.isConfirmed {
                self.fail(name, channel, reason)
            }
        case .array(let elements):
            guard elements.count >= 2, case .bulk(let kind) = elements[0], case .bulk(let bytes) = elements[1] else {
                return
            }
            let name = String(decoding: bytes, as: UTF8.self)
            switch String(decoding: kind, as: UTF8.self) {
            case "subscribe": self.confirmed(name)
            case "message": if self.channels[name] != nil { self.actions.append(.changed(name)) }
            // The end of a subscription, and the answer to a ping.
            default: break
            }
        case .simple, .integer, .bulk, .null: break
        }
    }

    private mutating func confirmed(_ name: String) {
        guard let channel = self.channels[name], !channel.isConfirmed else { return }
        for listener in channel.beginning { self.actions.append(.begin(listener: listener)) }
        if channel.hasGap { self.actions.append(.changed(name)) }
        self.channels[name]?.beginning = []
        self.channels[name]?.isConfirmed = true
        self.channels[name]?.hasGap = false
    }

    /// Ends subscriptions that have had no listener for a while.
    package mutating func timePassed(at now: Instant) {
        guard let sweep = self.nextSweep, sweep <= now else { return }
        let unused = self.channels.filter { $0.value.listenerCount == 0 }
        // One that awaits its confirmation stays, so that no later confirmation is taken for another one's.
        let old = unused.filter { entry in
            entry.value.lastUse + Self.patience <= now && (entry.value.isConfirmed || !self.isOpen)
        }.keys.sorted()
        for name in old { self.channels[name] = nil }
        for start in stride(from: 0, to: self.isOpen ? old.count : 0, by: Self.commandSize) {
            let some = old[start..<min(start + Self.commandSize, old.count)]
            self.actions.append(.write(RESPCommand(["UNSUBSCRIBE"] + some, []).bytes))
        }
        self.nextSweep = unused.count > old.count ? now + Self.patience : nil
    }

    /// Fails those that begin to listen.
    package mutating func shutDown() {
        for (name, channel) in self.channels.sorted(by: { $0.key < $1.key }) {
            self.fail(name, channel, "it was shut down")
        }
    }
}
