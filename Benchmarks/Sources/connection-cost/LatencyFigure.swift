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
        return Self.readings("to the consumer", latencies, bars: (p50: 30, p99: 200))
            + Self.readings("the machine: to a thread in read", bare, bars: nil)
            + Self.readings("the machine: a thread's wake-up", wakes, bars: nil)
    }

    private static let messageCount = 5_000
    /// The first ones find everything cold.
    private static let warmUpCount = 200

    private static func bare(_ measure: (UnsafeMutablePointer<UInt64>?, Int) -> Int) -> [Double] {
        let count = 2_000
        let values = [UInt64](unsafeUninitializedCapacity: count) { $1 = measure($0.baseAddress, count) }
        return values.map { Double($0) / 1e3 }
    }

    private static func readings(_ label: String, _ values: [Double], bars: (p50: Double, p99: Double)?) -> [Reading] {
        let sorted = values.dropFirst(Self.warmUpCount).sorted()
        func value(at quantile: Double) -> [Double] {
            sorted.isEmpty ? [] : [sorted[min(sorted.count - 1, Int(Double(sorted.count) * quantile))]]
        }
        return [
            Reading("\(label), p50", value(at: 0.5), "µs", bar: bars?.p50),
            Reading("\(label), p99", value(at: 0.99), "µs", bar: bars?.p99),
        ]
    }
}
