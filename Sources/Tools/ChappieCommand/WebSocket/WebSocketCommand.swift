// `chappie ws`: a WebSocket on the terminal. Lines of standard input are sent, messages are printed.
import Dispatch
import WebSocketClient

/// Speaks with a WebSocket server.
struct WebSocketCommand {
    /// The command's syntax.
    static let syntax = CommandSyntax(
        name: "ws",
        summary:
            "Opens a WebSocket, sends each line of standard input as a message, and prints each message on a line.",
        operand: "URL",
        requiresOperand: true,
        options: [
            .init(
                "field", "FIELD",
                "a field of the opening handshake, such as 'Origin: https://example.org'; may be given several times"),
            .init("subprotocol", "NAME", "offer a subprotocol, the preferred one first; may be given several times"),
            .init("binary", "send lines as binary messages"),
            .init(
                "linger", "S",
                "behind the end of the input, wait for messages until none has come for S seconds; default 1, 0 closes at once"
            ),
            .init("keep-open", "stay connected behind the end of the input, until the server closes"),
            .init("ping", "S", "send a ping every S seconds, and show the time of its pong"),
            .init("no-compression", "offer no compression of messages"),
            .init("max-message", "BYTES", "the largest message; default 67108864 (64 MiB)"),
            .init("connect-timeout", "S", "seconds to the server's answer; default 10, 0 for no limit"),
            .init(
                "close-timeout", "S",
                "seconds for sending what waits and for the server's close, behind that time; default 60, 0 for no limit"
            ),
            .init("ca-file", "FILE", "trust the certification authorities in a PEM file, and no others"),
            .init(
                "proxy", "URL",
                "go through a proxy, as in 'chappie stream'; environment HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY"),
            .init("json", "print one JSON object a line, with pongs and the end"),
        ],
        notes: [
            "At the end of the input it waits for the server's messages until none has come for a second (--linger), and "
                + "closes the WebSocket with code 1000; what the server sends before it closes is still printed. --keep-open "
                + "waits until the server closes. Binary messages are printed in hexadecimal digits.",
            "A message with line feeds is printed as it is, on several lines: --json has one line for each message. "
                + "On a terminal control characters are escaped.",
            "Example: echo hello | chappie ws wss://echo.example.org",
        ]
    )

    /// The console for the output.
    let console: Console

    /// Reads until the WebSocket is closed; SIGINT and SIGTERM close it.
    func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let options = try WebSocketOptions(arguments)
        // A write that waits for the reader of the output ends with the first signal.
        let patience = OutputPatience(limit: nil)
        let command = Self(console: self.console.waiting { patience.error })
        return try await InterruptibleWork.run(interrupted: { patience.interrupt() }) { try await command.run(options) }
    }

    private func run(_ options: WebSocketOptions) async throws -> ExitCode {
        let printer = WebSocketPrinter(printsJSON: options.printsJSON, terminals: self.console.terminals)
        do {
            let connection = try await WebSocketConnection.open(options.configuration)
            try self.print(printer.opened(connection.report, subprotocol: connection.subprotocol))
            try await self.converse(over: connection, options, printer)
            if let close = connection.closed { try self.print(printer.closed(close)) }
            return .success
        } catch let error as WebSocketError {
            if case .closed(let close) = error { try self.print(printer.closed(close)) }
            try self.print(printer.failed(error))
            throw error
        } catch let error as DescriptorError {
            // The output cannot be written, which may end in the middle of a line, or the error has its line already.
            throw error
        } catch {
            // A failure of this write could not be reported.
            try? self.print(printer.failed(error))
            throw error
        }
    }

    private func print(_ printed: WebSocketPrinter.Printed) throws(DescriptorError) {
        if let line = printed.output { try self.console.write(line) }
        if let line = printed.note { self.console.note(line) }
    }

    /// Sends the input and prints messages until the connection has ended.
    private func converse(
        over connection: WebSocketConnection, _ options: WebSocketOptions, _ printer: WebSocketPrinter
    ) async throws {
        let quiet = QuietTime(now: .now)
        // It is not waited for: a read from a terminal ends with the process.
        let input = Task { try await Self.sendInput(over: connection, options, quiet) }
        defer { input.cancel() }
        let pings = Task { try await self.ping(connection, options, printer) }
        var failure: (any Error)?
        do {
            while let message = try await connection.receive() {
                quiet.messageCame()
                try self.print(printer.message(message))
                quiet.messagePrinted(now: .now)
            }
        } catch {
            connection.cancel()
            failure = error
        }
        // No pong is printed behind the end.
        pings.cancel()
        _ = await pings.result
        if failure is CancellationError, !Task.isCancelled {
            do {
                // The input cannot be sent.
                try await input.value
            } catch let error as DescriptorError {
                // It cannot be read, so the output can still have its line.
                try self.print(printer.failed(error))
                throw error
            }
        }
        if let failure { throw failure }
    }

    private static func sendInput(
        over connection: WebSocketConnection, _ options: WebSocketOptions, _ quiet: QuietTime
    ) async throws {
        do {
            var lines = InputLines(limit: options.lineByteLimit)
            while let line = try await lines.next() { try await connection.send(options.message(of: line)) }
            guard let linger = options.linger else { return }
            // A server may take a close frame that comes with the last message for the end of all interest, and drop
            // its answer: `websockets` of PyPI does (2 of 12 runs).
            quiet.restart(now: .now)
            while case let rest = quiet.remaining(of: linger, now: .now), rest > .zero {
                try await Task.sleep(for: rest)
            }
            try await connection.close()
        } catch is WebSocketError {
            // Receiving ends with the reason.
        } catch {
            connection.cancel()
            throw error
        }
    }

    private static let pingTimeoutTag = "ws.ping-timeout"

    private func ping(
        _ connection: WebSocketConnection, _ options: WebSocketOptions, _ printer: WebSocketPrinter
    ) async throws {
        guard let interval = options.pingInterval else { return }
        while true {
            try await Task.sleep(for: interval)
            do {
                try self.print(printer.pong(after: try await connection.ping()))
            } catch let error as WebSocketError where error.tag == Self.pingTimeoutTag {
                try self.print(printer.missingPong)
            }
        }
    }
}

/// The lines of standard input, each read when it is asked for.
struct InputLines {
    private var splitter: LineSplitter
    private let queue = DispatchQueue(label: "chappie.input")
    private var hasEnded = false

    /// Creates a reader of lines of at most `limit` bytes.
    init(limit: Int) { self.splitter = LineSplitter(limit: limit) }

    /// Returns the next line without its line feed; nil at the end.
    mutating func next() async throws -> [UInt8]? {
        while true {
            if let line = self.splitter.next() { return line }
            if self.hasEnded { return nil }
            let bytes = try await self.read()
            if bytes.isEmpty {
                self.hasEnded = true
                self.splitter.finish()
            } else {
                try self.splitter.append(bytes)
            }
        }
    }

    /// Reads on a thread of its own, because the call blocks.
    private func read() async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            self.queue.async {
                continuation.resume(with: Result { try DescriptorReader.standardInput.read(upTo: 1 << 16) })
            }
        }
    }
}
