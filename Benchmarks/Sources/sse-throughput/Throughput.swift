// Measures how fast the parser turns bytes into events, and checks that it did.

import ServerSentEvents

/// The command: names of workloads, and how often each is repeated.
@main
struct Throughput {
    /// What one pass over an input found.
    struct Tally: Equatable {
        /// How many events were received.
        var eventCount = 0
        /// How many bytes of data they had.
        var dataByteCount = 0
    }

    static func main() throws {
        var names: [String] = []
        var repetitions = 5
        var arguments = CommandLine.arguments.dropFirst().makeIterator()
        while let argument = arguments.next() {
            if argument == "--repetitions" {
                guard let count = arguments.next().flatMap(Int.init), count > 0 else { throw UsageError() }
                repetitions = count
            } else {
                names.append(argument)
            }
        }
        for name in names where Workload(rawValue: name) == nil { throw UsageError() }
        for workload in Workload.allCases where names.isEmpty || names.contains(workload.rawValue) {
            try self.measure(workload, repetitions: repetitions)
        }
    }

    private static func measure(_ workload: Workload, repetitions: Int) throws {
        let input = workload.makeInput()
        let expected = Tally(eventCount: input.eventCount, dataByteCount: input.dataByteCount)
        var best = Duration.seconds(1 << 30)
        for _ in 0..<repetitions {
            var tally = Tally()
            let time = try ContinuousClock().measure { tally = try self.parse(input, workload.chunkByteCount) }
            guard tally == expected else {
                throw WrongCountError(name: workload.rawValue, expected: expected, got: tally)
            }
            best = min(best, time)
        }
        let seconds = Double(best.components.seconds) + Double(best.components.attoseconds) / 1e18
        let name = workload.rawValue + String(repeating: " ", count: 14 - workload.rawValue.utf8.count)
        print(
            "\(name) \(expected.eventCount) events, \(expected.dataByteCount) data bytes,",
            "\(Int(Double(input.bytes.count) / seconds / 1e6)) MB/s,",
            "\(Int(Double(expected.eventCount) / seconds)) events/s")
    }

    private static func parse(_ input: Input, _ chunkByteCount: Int) throws -> Tally {
        var parser = EventStreamParser()
        var tally = Tally()
        try input.bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = min(start + chunkByteCount, bytes.count)
                try parser.parse(UnsafeRawBufferPointer(rebasing: bytes[start..<end])) { item in
                    guard case .event(let event) = item else { return }
                    tally.eventCount += 1
                    tally.dataByteCount += event.data.count
                }
                start = end
            }
        }
        return tally
    }
}

/// The arguments name no workload.
struct UsageError: Error, CustomStringConvertible {
    var description: String {
        "usage: sse-throughput [--repetitions n] [\(Workload.allCases.map(\.rawValue).joined(separator: " | "))] ..."
    }
}

/// The parser did not find what is in the input.
struct WrongCountError: Error, CustomStringConvertible {
    let name: String
    let expected: Throughput.Tally
    let got: Throughput.Tally

    var description: String { "\(self.name): expected \(self.expected), got \(self.got)" }
}
