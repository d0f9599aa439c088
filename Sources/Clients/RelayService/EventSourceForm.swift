import ChappieRelay
import ChappieTransport
import ResponseEvents

/// The events of a stream for a browser's `EventSource` (WHATWG HTML section 9.2).
extension ChappieHubForm {
    /// Each event with its position as `id`.
    static let eventSource = ChappieHubForm(name: "EventSource") { $0.flatMap { lines(of: $0) } }

    private static func lines(of element: ChappieHubEvent) -> [UInt8] {
        let (type, data): (String, [UInt8])
        switch element.event {
        case .textDelta(let text): (type, data) = ("text", JSONText.string(text))
        case .reasoningDelta(let text): (type, data) = ("reasoning", JSONText.string(text))
        case .refusalDelta(let text): (type, data) = ("refusal", JSONText.string(text))
        case .restarted: (type, data) = ("restarted", Array("{}".utf8))
        case .completed: (type, data) = ("completed", Array("{}".utf8))
        default: return []
        }
        return Array("id: \(element.position)\nevent: \(type)\ndata: ".utf8) + data + Array("\n\n".utf8)
    }
}
