// How long a message takes from the server's write to the consumer.
import CBareClient
import CStreamScript
import ChappieTransport

/// A thousand events a second on one stream.
enum LatencyFigure {
    static let figure = Figure(
        name: "latency", summary: "from the server's write to the consumer, 1,000 events a second"
    ) { _ in
        let server = try StreamServer(.pace(messageCount: Self.messageCount, perSecond: 1_000))
        let bare = Self.bare { cbc_latencies(server.port, $0, $1) }
        let wakes = Self.bare { cbc_thread_wakes($0, $1) }
        let consumer = Consumer(kind: .events, server: server)
        var latencies: [Double] = []
        for try await event in try consumer.instance().stream(Consumer.request) {
            let now = cbc_moment()
            guard case .textDelta(let text) = event else { continue }
            let sent = text.utf8CString.withUnsafeBufferPointer { css_moment($0.baseAddress, text.utf8.count) }
            guard sent > 0 else { throw WrongResultError("a message has no moment in it") }
            latencies.append(Double(now - sent) / 1e3)
        }
        guard latencies.count == Self.messageCount else { throw WrongResultError("\(latencies.count) messages came") }
        let (ours, machine, wake) = (Quantiles(latencies), Quantiles(bare), Quantiles(wakes))
        return [
            Reading("added between socket and consumer, p50", [ours.p50 - machine.p50], "µs", bar: 30),
            Reading("added between socket and consumer, p99", [ours.p99 - machine.p99], "µs", bar: 200),
            Reading("to the consumer, p50", [ours.p50], "µs"),
            Reading("to the consumer, p99", [ours.p99], "µs"),
            Reading("the machine: to a thread in read, p50", [machine.p50], "µs"),
            // On a machine that is not quiet, the difference of two accidents says nothing.
            Reading("the machine: to a thread in read, p99", [machine.p99], "µs", bar: 1_000),
            Reading("the machine: a thread's wake-up, p50", [wake.p50], "µs"),
            Reading("the machine: a thread's wake-up, p99", [wake.p99], "µs"),
        ]
    }

    private static let messageCount = 5_000
    /// The first ones find everything cold.
    private static let warmUpCount = 200

    private static func bare(_ measure: (UnsafeMutablePointer<UInt64>?, Int) -> Int) -> [Double] {
        let count = 2_000
        let values = [UInt64](unsafeUninitializedCapacity: count) { $1 = measure($0.baseAddress, count) }
        return values.map { Double($0) / 1e3 }
    }

    /// What half of the values, and all but a hundredth, do not pass.
    private struct Quantiles {
        private let sorted: [Double]

        init(_ values: [Double]) { self.sorted = values.dropFirst(LatencyFigure.warmUpCount).sorted() }

        var p50: Double { self.value(at: 0.5) }
        var p99: Double { self.value(at: 0.99) }

        private func value(at quantile: Double) -> Double {
            guard let last = self.sorted.last else { return .infinity }
            let index = Int(Double(self.sorted.count) * quantile)
            return index < self.sorted.count ? self.sorted[index] : last
        }
    }
}
