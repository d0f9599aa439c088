// The arguments of `chappie events` as values of the event source.
import EventSource
import PlatformFoundation

/// The request and the options of an event source.
struct EventsOptions {
    /// The request, without its content when that is read from standard input.
    var request: EventSourceRequest
    /// The configuration, without a log.
    let configuration: EventSourceConfiguration
    /// Indicates whether the content is read from standard input.
    let readsContent: Bool
    /// Indicates whether JSON lines are printed.
    let printsJSON: Bool
    /// The number of events after which the command ends; nil without a limit.
    let maximumEventCount: Int?
    /// The path of the report.
    let reportPath: String?

    /// Reads the arguments, and the files that they name.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.request = try Self.request(arguments)
        self.configuration = try Self.configuration(arguments)
        self.readsContent = arguments.text("data") == "@-"
        self.printsJSON = arguments.has("json")
        self.maximumEventCount = try arguments.integer("max-events", in: 1...Int.max)
        self.reportPath = arguments.text("report")
    }

    // MARK: The request

    private static func request(_ arguments: ParsedArguments) throws(UsageError) -> EventSourceRequest {
        guard let address = arguments.operands.first else { throw UsageError("the address is missing: a URL") }
        guard let url = URL(string: address), ["http", "https"].contains(url.scheme?.lowercased()),
            let host = url.host(), !host.isEmpty
        else { throw UsageError("the address has to look like https://example.com/events") }
        var request = EventSourceRequest(url: url)
        request.fields = try Self.fields(arguments)
        if let data = arguments.text("data") {
            request.body = try Self.content(data)
            request.method = "POST"
            if !request.fields.contains(where: { $0.name.lowercased() == "content-type" }) {
                request.fields.append((name: "Content-Type", value: "application/json"))
            }
        }
        if let method = arguments.text("method") { request.method = method }
        request.lastEventID = arguments.text("last-event-id") ?? ""
        return request
    }

    /// Returns the content that the option names; none for standard input, which is read later.
    private static func content(_ data: String) throws(UsageError) -> [UInt8] {
        guard data.hasPrefix("@") else { return Array(data.utf8) }
        return data == "@-" ? [] : try DescriptorReader.bytes(ofFile: String(data.dropFirst()))
    }

    private static func fields(_ arguments: ParsedArguments) throws(UsageError) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        for text in arguments.texts("header") {
            guard text.hasPrefix("@") else {
                fields.append(try Self.field(text))
                continue
            }
            let bytes = try DescriptorReader.bytes(ofFile: String(text.dropFirst()))
            for line in bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
                fields.append(try Self.field(String(decoding: line, as: UTF8.self)))
            }
        }
        return fields
    }

    /// Reads `NAME: VALUE`; the error has no part of the value.
    private static func field(_ text: String) throws(UsageError) -> (name: String, value: String) {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > bytes.startIndex else {
            throw UsageError("option --header needs a name, a colon and a value")
        }
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let value = bytes[colon...].dropFirst().drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        return (name: String(text[..<colon]), value: String(decoding: value, as: UTF8.self))
    }

    // MARK: The configuration

    private static func configuration(_ arguments: ParsedArguments) throws(UsageError) -> EventSourceConfiguration {
        var configuration = EventSourceConfiguration()
        configuration.reconnection = try Self.reconnection(arguments)
        configuration.timeouts = try Self.timeouts(arguments)
        if let byteCount = try arguments.integer("max-event", in: 1...Int.max) {
            configuration.limits.eventByteCount = byteCount
        }
        if let path = arguments.text("ca-file") { configuration.tls.trust = .file(path: path) }
        if let proxy = arguments.text("proxy") { configuration.proxy = .url(proxy) }
        return configuration
    }

    private static func reconnection(
        _ arguments: ParsedArguments
    ) throws(UsageError) -> EventSourceReconnectionPolicy {
        var policy = EventSourceReconnectionPolicy()
        policy.maximumAttempts = try arguments.integer("max-reconnects", in: 0...Int.max)
        if let time = try arguments.budget("reconnection-time") { policy.reconnectionTime = time.duration ?? .zero }
        if let resending: ResendingChoice = try arguments.choice("resend") { policy.resending = resending.resending }
        if let text = arguments.text("retry-status") {
            for code in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let number = Int(code), (100...999).contains(number) else {
                    throw UsageError("option --retry-status needs status codes such as 429,503, not '\(text)'")
                }
                policy.retriedStatusCodes.insert(number)
            }
        }
        return policy
    }

    private static func timeouts(_ arguments: ParsedArguments) throws(UsageError) -> EventSourceTimeouts {
        var timeouts = EventSourceTimeouts()
        if let budget = try arguments.budget("connect-timeout") { timeouts.connect = budget.duration }
        if let budget = try arguments.budget("response-timeout") { timeouts.response = budget.duration }
        if let budget = try arguments.budget("idle-timeout") { timeouts.idle = budget.duration }
        if let budget = try arguments.budget("timeout") { timeouts.total = budget.duration }
        return timeouts
    }
}
