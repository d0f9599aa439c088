// Random look-ups on simulated threads: everybody is answered, and as soon as there is a thread for it.

import Testing

@testable import LibwebsocketsTransport

@Suite struct LookupQueueWalkTests {
    /// Threads that follow the queue's steps, in an order and at times that a seed draws.
    private struct Simulation {
        enum Thread {
            case ready(isRelief: Bool)
            case lookingUp(String, until: Int)
            case pausing(until: Int)
        }

        var queue = LookupQueue()
        var random: SeededGenerator
        var threads: [Thread] = []
        var now = 0
        var nextTicket: UInt64 = 1
        var waiting: [UInt64: (name: String, since: Int)] = [:]
        var begunFor: [String] = []
        let start = ContinuousClock.now

        mutating func ask(for name: String) {
            self.waiting[self.nextTicket] = (name, self.now)
            if self.queue.ask(for: name, ticket: self.nextTicket) { self.threads.append(.ready(isRelief: false)) }
            self.nextTicket += 1
        }

        mutating func cancelOne() {
            guard let ticket = self.waiting.keys.sorted().randomElement(using: &self.random) else { return }
            self.queue.cancel(ticket)
            self.waiting[ticket] = nil
        }

        /// Lets every thread that is ready take its step, in a random order.
        mutating func settle() {
            while let place = self.threads.indices.filter({ self.isReady(self.threads[$0]) })
                .randomElement(using: &self.random)
            {
                guard case .ready(let isRelief) = self.threads.remove(at: place) else { return }
                switch self.queue.step(isRelief: isRelief, at: self.start + .milliseconds(self.now)) {
                case .lookUp(let name, let startsThread):
                    self.begunFor.append(name)
                    if startsThread { self.threads.append(.ready(isRelief: false)) }
                    // One in five takes so long that it is stuck.
                    let isStuck = Int.random(in: 0..<5, using: &self.random) == 0
                    let duration = Int.random(in: isStuck ? 2_000...20_000 : 1...100, using: &self.random)
                    self.threads.append(.lookingUp(name, until: self.now + duration))
                case .pause(let duration):
                    let milliseconds = Int((duration / .milliseconds(1)).rounded(.up))
                    self.threads.append(.pausing(until: self.now + milliseconds))
                case .end:
                    break
                }
            }
        }

        /// Advances to the next moment at which a thread has a step to do; returns false when there is none.
        mutating func advance() -> Bool {
            let moments = self.threads.compactMap { thread -> Int? in
                switch thread {
                case .ready: nil
                case .lookingUp(_, let until), .pausing(let until): until
                }
            }
            guard let next = moments.min() else { return false }
            self.now = max(self.now, next)
            for (index, thread) in self.threads.enumerated() {
                switch thread {
                case .lookingUp(let name, let until) where until <= self.now:
                    for ticket in self.queue.finished(name) {
                        #expect(self.waiting.removeValue(forKey: ticket)?.name == name)
                    }
                    self.threads[index] = .ready(isRelief: false)
                case .pausing(let until) where until <= self.now:
                    self.threads[index] = .ready(isRelief: true)
                case .ready, .lookingUp, .pausing:
                    break
                }
            }
            return true
        }

        private func isReady(_ thread: Thread) -> Bool {
            if case .ready = thread { true } else { false }
        }
    }

    @Test(arguments: 1...12)
    func everyCallerIsAnswered(_ seed: Int) {
        var simulation = Simulation(random: SeededGenerator(state: UInt64(seed)))
        for round in 0..<400 {
            switch Int.random(in: 0..<10, using: &simulation.random) {
            case 0..<5: simulation.ask(for: "\(Int.random(in: 0..<60, using: &simulation.random))")
            case 5: simulation.cancelOne()
            case 6: for number in 0..<20 { simulation.ask(for: "\(round) \(number)") }
            default: _ = simulation.advance()
            }
            if Bool.random(using: &simulation.random) { simulation.settle() }
            #expect(simulation.threads.count <= LookupQueue.threadLimit)
        }
        simulation.settle()
        while simulation.advance() { simulation.settle() }
        #expect(simulation.waiting.isEmpty)
        #expect(simulation.threads.isEmpty)
        // The queue is as good as new.
        #expect(simulation.queue.ask(for: "last", ticket: 0) == true)
    }

    /// With threads to spare, a name waits for no longer than look-ups take to count as stuck.
    @Test func aNameBehindStuckOnesWaitsForTwoSeconds() {
        var simulation = Simulation(random: SeededGenerator(state: 7))
        for number in 0..<16 {
            #expect(simulation.queue.ask(for: "stuck \(number)", ticket: UInt64(1_000 + number)) == true || number > 8)
        }
        var running = 0
        var paused: Duration?
        // Every thread that was asked for takes a step at the same moment.
        for _ in 0..<16 {
            switch simulation.queue.step(isRelief: false, at: simulation.start) {
            case .lookUp: running += 1
            case .pause(let duration): paused = duration
            case .end: break
            }
        }
        #expect(running == 8)
        #expect(paused == LookupQueue.patience)
    }
}
