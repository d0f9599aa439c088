// The faults that apply to one attempt, by their kind.
//
// A value owned by the attempt's exchange.

/// The faults of one attempt.
struct AttemptFaults: Sendable {
    /// An answer in place of the script.
    struct Answer: Sendable {
        var status: Int
        var fields: [ChappieTestServer.Field]
        var body: String?
    }

    private let faults: [ChappieTestServer.Fault]

    /// Selects the faults of an attempt.
    init(_ faults: [ChappieTestServer.Fault], attempt: Int, transport: ChappieTestServer.Transport) {
        self.faults = faults.filter { $0.applies(toAttempt: attempt, transport: transport) }
    }

    private func first<Value>(_ find: (ChappieTestServer.Fault.Action) -> Value?) -> Value? {
        for fault in self.faults { if let value = find(fault.action) { return value } }
        return nil
    }

    /// Returns the faults of the connection whose bytes count from an origin.
    func connectionFaults(from origin: ChappieTestServer.Fault.ByteOrigin) -> [ConnectionFault] {
        self.faults.compactMap { fault in
            switch fault.action {
            case .cut(let byte, let start, let cut) where start ?? .response == origin:
                .cut(atByte: byte, with: cut ?? .end)
            case .stall(let byte, let start) where start ?? .response == origin: .halfOpen(atByte: byte)
            case .throttle(let rate) where origin == .response:
                .throttle(bytesPerSecond: rate > ConnectionFault.lowestRate ? rate : ConnectionFault.lowestRate)
            default: nil
            }
        }
    }

    /// The answer in place of the script.
    var answer: Answer? {
        self.first { action in
            guard case .answer(let status, let fields, let body) = action else { return nil }
            return Answer(status: status, fields: fields ?? [], body: body)
        }
    }

    /// The text in place of HTTP.
    var textWithoutHTTP: String? {
        self.first { if case .answerWithoutHTTP(let text) = $0 { text ?? "SSH-2.0-OpenSSH_9.2\r\n" } else { nil } }
    }

    /// Indicates whether the accept key is wrong.
    var hasWrongAcceptKey: Bool {
        self.first { if case .wrongAcceptKey = $0 { true } else { nil } } ?? false
    }

    /// The extension that is claimed without an offer.
    var unofferedExtension: String? {
        self.first { if case .unofferedExtension(let value) = $0 { value ?? "permessage-unheard-of" } else { nil } }
    }

    /// The subprotocol that is claimed without an offer.
    var unofferedSubprotocol: String? {
        self.first { if case .unofferedSubprotocol(let value) = $0 { value ?? "unheard-of" } else { nil } }
    }

    /// Fields that fill the header section.
    var paddingFields: [ChappieTestServer.Field] {
        let count = self.first { if case .largeHeaderSection(let count) = $0 { count } else { nil } } ?? 0
        let valueByteCount = 4096
        guard count > 0 else { return [] }
        return (0...(count / valueByteCount)).map { index in
            .init(name: "x-padding-\(index)", value: String(repeating: "p", count: valueByteCount))
        }
    }

    /// A Close frame right after the 101, before any request.
    var earlyClose: ResponseStep? {
        self.first { action in
            guard case .closeWebSocket(let code, let reason, nil) = action else { return nil }
            return .close(code: code, reason: reason ?? "")
        }
    }

    /// The size of the frames of a message, and whether pings stand between them.
    var fragmentation: (byteCount: Int, pings: Bool)? {
        self.first { action in
            guard case .fragment(let count, let pings) = action, count > 0 else { return nil }
            return (count, pings ?? false)
        }
    }

    /// The number of events by which a background response is resumed too late.
    var resumptionOffset: Int {
        self.first { if case .resumeElsewhere(let offset) = $0 { offset } else { nil } } ?? 0
    }

    /// Indicates whether a compressed event stream ends too early.
    var truncatesContent: Bool {
        self.first { if case .truncateContent = $0 { true } else { nil } } ?? false
    }

    /// Returns the changes of the scripted text.
    func textChanges(response: Int) -> [ScriptedRequest.TextChange] {
        self.actions(response: response).compactMap { action in
            switch action {
            case .divergeText(let offset, let replacement): .diverge(from: offset, replacement: replacement)
            case .shortenText(let length): .shorten(to: length)
            case .largeDelta(let byteCount): .largeDelta(byteCount: byteCount)
            default: nil
            }
        }
    }

    /// Returns the actions that count events in a response of this attempt, from 1.
    func actions(response: Int) -> [ChappieTestServer.Fault.Action] {
        self.faults.filter { ($0.response ?? 1) == response }.map(\.action)
    }
}
