// `chappie sse`: an event stream on standard input, JSON lines on standard output.
import ServerSentEvents

/// Prints the events of a stream.
struct SSECommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "sse",
        summary: "Reads an event stream from standard input and prints one JSON object an event.",
        options: [
            .init("chunk", "N", "feed the parser N bytes at a time; default: as they are read"),
            .init("max-event", "BYTES", "the largest event; default 67108864 (64 MiB)"),
        ],
        notes: ["Example: curl -N https://example.com/events | chappie sse"]
    )

    /// The console for the output.
    let console: Console

    /// Reads to the end of the input.
    func run(_ arguments: ParsedArguments) throws -> ExitCode {
        let chunkByteCount = try arguments.integer("chunk", in: 1...Int.max)
        let maximumEventByteCount = try arguments.integer("max-event", in: 1...Int.max)
        var printer = EventStreamPrinter(
            maximumEventByteCount: maximumEventByteCount ?? 64 << 20, chunkByteCount: chunkByteCount)
        do {
            while case let bytes = try DescriptorReader.standardInput.read(upTo: 1 << 16), !bytes.isEmpty {
                let printed = printer.lines(for: bytes)
                try self.console.write(printed.text)
                if let failure = printed.failure { throw failure }
            }
            if printer.endsInsideEvent() {
                self.console.complain("the input ended inside an event, which is not printed: a blank line is missing")
            }
        } catch EventStreamError.eventTooLarge(let maximumByteCount, let byteOffset) {
            self.console.complain(
                "an event is larger than \(maximumByteCount) bytes (noticed at byte \(byteOffset) of the input); "
                    + "--max-event sets another limit")
            return .wrongData
        }
        return .success
    }
}
