// The arguments of `chappie ws` as values of the client.
import PlatformFoundation
import WebSocketClient

/// The connection, and how its messages are made and printed.
struct WebSocketOptions: Sendable {
    /// The configuration of the connection.
    let configuration: WebSocketConfiguration
    /// Indicates whether lines are sent as binary messages.
    let sendsBinary: Bool
    /// The time without a message, behind the end of the input, after which the connection is closed; nil where it
    /// stays open.
    let linger: Duration?
    /// Indicates whether JSON lines are printed.
    let printsJSON: Bool
    /// The time between two pings; nil for none.
    let pingInterval: Duration?
    /// The longest line that is sent.
    let lineByteLimit = 64 << 20

    /// Reads the arguments.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard let address = arguments.operands.first else {
            throw UsageError("there is no URL: give one such as wss://example.org/chat")
        }
        guard let url = URL(string: address), ["ws", "wss", "http", "https"].contains(url.scheme?.lowercased()),
            let host = url.host(), !host.isEmpty
        else { throw UsageError("the URL has to look like wss://example.org/chat") }
        var configuration = WebSocketConfiguration(url: url)
        for text in arguments.texts("field") { configuration.additionalFields.append(try Self.field(text)) }
        configuration.subprotocols = arguments.texts("subprotocol")
        if arguments.has("no-compression") { configuration.compression = .disabled }
        if let limit = try arguments.integer("max-message", in: 1...Int.max) {
            configuration.limits.messageByteCount = limit
        }
        if let budget = try arguments.budget("connect-timeout") { configuration.timeouts.connect = budget.duration }
        let budget = try arguments.budget("close-timeout") ?? .limit(.seconds(60))
        // The client's longest time, which is as good as none.
        configuration.timeouts.close = budget.duration ?? .seconds(3_153_600_000)
        if let path = arguments.text("ca-file") { configuration.tls.trust = .file(path: path) }
        if let proxy = arguments.text("proxy") { configuration.proxy = .url(proxy) }
        self.configuration = configuration
        self.sendsBinary = arguments.has("binary")
        let linger = try arguments.number("linger", in: 0...31_536_000) ?? 1
        self.linger = arguments.has("keep-open") ? nil : .seconds(linger)
        self.printsJSON = arguments.has("json")
        self.pingInterval = try arguments.positiveNumber("ping").map { .seconds(min($0, 31_536_000)) }
    }

    /// Returns a field that is written as in a header section: `NAME: VALUE`.
    private static func field(_ text: String) throws(UsageError) -> (name: String, value: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty else {
            throw UsageError("option --field needs a name, a colon and a value, such as 'Origin: https://example.org'")
        }
        let value = parts[1].drop { $0 == " " || $0 == "\t" }
        return (String(parts[0]), String(value))
    }

    /// Returns the message that a line is sent as.
    func message(of line: [UInt8]) throws(UsageError) -> WebSocketMessage {
        if self.sendsBinary { return .binary(line) }
        guard let text = String(validating: line, as: UTF8.self) else {
            throw UsageError("a line of the input is not UTF-8; --binary sends it as it is")
        }
        return .text(text)
    }
}
