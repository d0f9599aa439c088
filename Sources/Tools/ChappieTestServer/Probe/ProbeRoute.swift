// The task that a request sets a probe server. Pure: a request in, a value out.

/// The action of a request; every number is within `ProbeLimits`.
enum ProbeRoute: Equatable {
    /// An event stream at a pace.
    struct Events: Equatable {
        /// The number of events.
        var count: Int
        /// The time between two of them.
        var interval: Duration
        /// The padding of each, in bytes.
        var paddingByteCount: Int
    }

    /// The facts that the server has seen of the request.
    case facts
    /// A WebSocket that returns its messages.
    case echo
    /// An event stream.
    case events(Events)
    /// An answer after a silence of so many seconds.
    case hold(Int)
    /// A request for which there is no answer.
    case unknown

    /// Reads a request.
    init(_ request: HTTPRequest) {
        guard request.method == "GET" else {
            self = .unknown
            return
        }
        func number(_ name: String, _ known: Int, in range: ClosedRange<Int>) -> Int {
            let number = request.parameter(name).flatMap { Int($0) } ?? known
            return min(max(number, range.lowerBound), range.upperBound)
        }
        self =
            switch request.path {
            case "/v1/models": .facts
            case "/v1/responses" where request.asksForWebSocket: .echo
            case "/v1/probe/events":
                .events(
                    Events(
                        count: number("count", 20, in: ProbeLimits.eventCount),
                        interval: .milliseconds(number("interval", 100, in: ProbeLimits.eventMilliseconds)),
                        paddingByteCount: number("padding", 200, in: ProbeLimits.paddingByteCount)
                    ).bounded)
            case "/v1/probe/hold": .hold(number("seconds", 1, in: ProbeLimits.holdSeconds))
            default: .unknown
            }
    }

    /// The name for a log.
    var name: String {
        switch self {
        case .facts: "facts"
        case .echo: "echo"
        case .events: "events"
        case .hold: "hold"
        case .unknown: "unknown"
        }
    }

    /// The time that the answer takes by itself.
    var duration: Duration {
        switch self {
        case .facts, .unknown: .zero
        case .echo: ProbeLimits.webSocketLifetime
        case .events(let events): events.interval * events.count
        case .hold(let seconds): .seconds(seconds)
        }
    }
}

extension ProbeRoute.Events {
    /// The events, no more of them than fit into the longest stream.
    fileprivate var bounded: Self {
        var events = self
        events.count = min(self.count, max(1, Int(ProbeLimits.streamDuration / self.interval)))
        return events
    }
}
