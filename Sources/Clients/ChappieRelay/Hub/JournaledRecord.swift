import ChappieTransport
import PlatformFoundation
import ResponseEvents

/// The content of a record of a journal: an event of a stream, or its end.
///
/// A record is one byte that names its kind, and the content in UTF-8. With the byte's highest bit, the position in the
/// upstream's response behind this record stands before the content, with a zero byte behind it.
enum JournaledRecord: Sendable, Equatable {
    case event(ChappieStreamEvent)
    case end(JournaledEnd)
    /// One of a kind that this version does not know.
    case unknown

    /// The kinds; their numbers are in journals and stay.
    private enum Kind: UInt8 {
        case text = 0x74, reasoning = 0x72, refusal = 0x66, raw = 0x77, restarted = 0x73
        case toolRequested = 0x71, approvalRequested = 0x61, toolCompleted = 0x6f, end = 0x65
    }

    private static let pointMark: UInt8 = 0x80

    /// Returns the record of an event; nil for one that is not journaled.
    ///
    /// The state of the account and the diagnostics are about the producer, and `completed` is the end.
    static func record(of event: ChappieStreamEvent) -> [UInt8]? {
        switch event {
        case .textDelta(let text): self.bytes(.text, text)
        case .reasoningDelta(let text): self.bytes(.reasoning, text)
        case .refusalDelta(let text): self.bytes(.refusal, text)
        case .raw(let type, let payload): self.bytes(.raw, "\(type)\u{0}\(payload)")
        case .restarted(let text): self.bytes(.restarted, text)
        case .toolCallRequested(let request): self.bytes(.toolRequested, json: ToolRecord(request))
        case .approvalRequested(let request): self.bytes(.approvalRequested, json: ToolRecord(request))
        case .toolCallCompleted(let result): self.bytes(.toolCompleted, json: ToolRecord(result))
        case .usageLimits, .diagnostic, .completed: nil
        }
    }

    /// Returns the record of an end.
    static func record(of end: JournaledEnd) -> [UInt8] { self.bytes(.end, json: end) }

    /// Returns the record with a position in the upstream's response in front of its content.
    static func record(_ record: [UInt8], at point: ChappieResumePoint) -> [UInt8] {
        guard let kind = record.first else { return record }
        return [kind | self.pointMark] + Array(point.description.utf8) + [0] + record.dropFirst()
    }

    /// Reads a record, and the position that stands in it.
    static func read(_ bytes: [UInt8]) -> (record: JournaledRecord, point: ChappieResumePoint?) {
        guard let first = bytes.first else { return (.unknown, nil) }
        var content = bytes.dropFirst()
        var point: ChappieResumePoint?
        if first & self.pointMark != 0 {
            guard let end = content.firstIndex(of: 0) else { return (.unknown, nil) }
            point = ChappieResumePoint(String(decoding: content[..<end], as: UTF8.self))
            content = content[(end + 1)...]
        }
        return (self.read(Kind(rawValue: first & ~self.pointMark), content), point)
    }

    private static func read(_ kind: Kind?, _ content: ArraySlice<UInt8>) -> JournaledRecord {
        let text = String(decoding: content, as: UTF8.self)
        switch kind {
        case .text: return .event(.textDelta(text))
        case .reasoning: return .event(.reasoningDelta(text))
        case .refusal: return .event(.refusalDelta(text))
        case .restarted: return .event(.restarted(deliveredText: text))
        case .raw:
            guard let end = content.firstIndex(of: 0) else { return .unknown }
            return .event(
                .raw(
                    type: String(decoding: content[..<end], as: UTF8.self),
                    payload: String(decoding: content[(end + 1)...], as: UTF8.self)))
        case .toolRequested, .approvalRequested, .toolCompleted:
            let record = try? JSONDecoder().decode(ToolRecord.self, from: Data(content))
            return record?.event(isApproval: kind == .approvalRequested).map { .event($0) } ?? .unknown
        case .end:
            return (try? JSONDecoder().decode(JournaledEnd.self, from: Data(content))).map { .end($0) } ?? .unknown
        case nil: return .unknown
        }
    }

    private static func bytes(_ kind: Kind, _ text: String) -> [UInt8] { [kind.rawValue] + Array(text.utf8) }

    private static func bytes(_ kind: Kind, json value: some Encodable) -> [UInt8] {
        // Values of texts and numbers can always be encoded.
        [kind.rawValue] + Array((try? JSONEncoder().encode(value)) ?? Data())
    }

    /// The events about tools, which are no JSON by themselves.
    private struct ToolRecord: Codable {
        var callID: String
        var name: String
        var arguments: String?
        var policy: ChappieToolPolicy?
        var status: ChappieToolStatus?
        var output: String?
        var seconds: Double?

        init(_ request: ChappieToolExecutionRequest) {
            (self.callID, self.name, self.arguments) = (request.callID, request.name, request.arguments)
            self.policy = request.policy
        }

        init(_ request: ChappieApprovalRequest) {
            (self.callID, self.name, self.arguments) = (request.callID, request.name, request.arguments)
        }

        init(_ result: ChappieToolExecutionResult) {
            (self.callID, self.name, self.output) = (result.callID, result.name, result.output)
            self.status = result.status
            self.seconds = result.duration / .seconds(1)
        }

        func event(isApproval: Bool) -> ChappieStreamEvent? {
            if let status, let output {
                return .toolCallCompleted(
                    ChappieToolExecutionResult(
                        callID: self.callID, name: self.name, status: status, output: output,
                        duration: .seconds(self.seconds ?? 0)))
            }
            guard let arguments else { return nil }
            if isApproval {
                return .approvalRequested(
                    ChappieApprovalRequest(callID: self.callID, name: self.name, arguments: arguments))
            }
            return .toolCallRequested(
                ChappieToolExecutionRequest(
                    callID: self.callID, name: self.name, arguments: arguments, policy: self.policy ?? .automatic))
        }
    }
}

/// The end of a stream, as its journal keeps it.
struct JournaledEnd: Sendable, Equatable, Codable {
    enum Status: String, Sendable, Codable {
        case completed, failed, cancelled
    }

    var status: Status
    var failure: ChappieHubFailure?
    var response: Response?
    /// The time of a complete response's end, in seconds since 1970; nil in journals of older versions.
    var completedAt: Int?

    /// The facts of the complete response apart from its text.
    struct Response: Sendable, Equatable, Codable {
        var id: String?
        var model: String?
        var serviceTier: String?
        var usage: ChappieTokenUsage?
        /// Its items in order, each the JSON text of an object.
        var items: [String]

        init(_ response: ChappieResponse, items: [[UInt8]]) {
            (self.id, self.model) = (response.id, response.model)
            (self.serviceTier, self.usage) = (response.serviceTier, response.usage)
            self.items = items.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The error that readers get; nil for a complete response.
    var error: ChappieHubError? {
        switch self.status {
        case .completed: nil
        case .cancelled: .cancelled
        case .failed:
            .failed(self.failure ?? ChappieHubFailure(tag: "relay.failed", message: "failed", isRetryable: false))
        }
    }
}
