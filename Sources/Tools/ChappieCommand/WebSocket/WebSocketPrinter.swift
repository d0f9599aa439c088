// The lines of `chappie ws`. Pure: what happened in, text out.
import PlatformFoundation
import WebSocketClient

/// Formats messages, pongs and the end of a WebSocket.
struct WebSocketPrinter: Sendable {
    /// The text about one event.
    struct Printed: Equatable {
        /// The line for standard output, with its line feed.
        var output: String?
        /// The line for standard error, without a line feed.
        var note: String?
    }

    /// Indicates whether JSON lines are printed.
    let printsJSON: Bool
    /// The kind of each output.
    let terminals: Console.Terminals

    /// Returns the text about the opened connection: progress, which is shown on a terminal alone.
    func opened(_ report: WebSocketReport, subprotocol: String?) -> Printed {
        if self.printsJSON {
            return self.line("open") { line in
                line.add("subprotocol", subprotocol)
                line.add("compressed", report.isCompressed)
                line.add("duration", report.opened)
            }
        }
        guard self.terminals.errorOutput else { return Printed() }
        let choice = subprotocol.map { ", subprotocol \($0.onOneLine(limit: 100))" } ?? ""
        return Printed(note: "connected after \(Self.milliseconds(report.opened ?? 0))\(choice)")
    }

    /// Returns the text of a message: as it is to a pipe, with escaped control characters to a terminal.
    func message(_ message: WebSocketMessage) -> Printed {
        if self.printsJSON {
            return self.line(message.kind == .text ? "text" : "binary") { line in
                switch message {
                case .text(let text): line.add("text", text)
                case .binary(let bytes): line.add("base64", Data(bytes).base64EncodedString())
                }
            }
        }
        switch message {
        case .text(let text):
            return Printed(output: (self.terminals.output ? text.withEscapedControlCharacters : text) + "\n")
        case .binary(let bytes): return Printed(output: Self.hexadecimal(bytes) + "\n")
        }
    }

    /// Returns the text about an answered ping.
    func pong(after duration: Duration) -> Printed {
        let seconds = duration / .seconds(1)
        if self.printsJSON { return self.line("pong") { $0.add("duration", seconds) } }
        return Printed(note: "pong after \(Self.milliseconds(seconds))")
    }

    /// The text about a ping that was not answered in time.
    var missingPong: Printed {
        if self.printsJSON { return self.line("missing-pong") { _ in } }
        return Printed(note: "no pong within 10 s")
    }

    /// Returns the text about the end.
    func closed(_ close: WebSocketClose) -> Printed {
        if self.printsJSON {
            return self.line("close") { line in
                line.add("code", close.code)
                line.add("reason", close.reason.isEmpty ? nil : close.reason)
                line.add("initiator", close.initiator.rawValue)
            }
        }
        let side =
            switch close.initiator {
            case .client: "closed"
            case .server: "closed by the server"
            case .network: "lost"
            }
        let reason = close.reason.isEmpty ? "" : ": \(close.reason.onOneLine())"
        return Printed(note: "\(side) with code \(close.code)\(reason)")
    }

    /// Returns the line about an error or an interruption; its sentence is printed by the console.
    func failed(_ error: any Error) -> Printed {
        guard self.printsJSON else { return Printed() }
        let facts = FailureFacts(error)
        return self.line("error") { line in
            line.add("tag", facts.tag)
            line.add("category", facts.category?.rawValue)
            line.add("retryable", facts.isRetryable)
            line.add("safeDescription", facts.safeDescription)
            line.add("serverMessage", (error as? WebSocketError)?.refusalMessage)
        }
    }

    private func line(_ type: String, _ fill: (inout JSONLineWriter) -> Void) -> Printed {
        var writer = JSONLineWriter()
        writer.add("type", type)
        fill(&writer)
        return Printed(output: writer.line)
    }

    private static func milliseconds(_ seconds: Double) -> String {
        "\(Double(Int((seconds * 10_000).rounded())) / 10) ms"
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }
}
