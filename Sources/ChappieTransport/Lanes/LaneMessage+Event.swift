import ResponseEvents
import StreamSession
import StreamTransport

/// Finds out whom a message is for.
extension LaneMessage {
    /// Reads a message, wherever in it the lane is named.
    init(_ payload: InboundPayload, with decoder: inout ResponseEventDecoder) {
        guard payload.kind == .text, let event = unsafe try? decoder.decode(payload.bytes) else {
            self.init(lane: nil, kind: .unreadable)
            return
        }
        let lane = event.streamID.map { String($0) }
        self.init(lane: lane?.isEmpty == false ? lane : nil, kind: Kind(event))
    }
}

extension LaneMessage.Kind {
    fileprivate init(_ event: ResponseEvent) {
        switch event.kind {
        case .completed, .failed: self = .end
        // What was put into the response is answered by another one, which nobody has to ask for.
        case .incomplete(let summary): self = summary.incompleteReason == "steered" ? .content : .end
        case .error: self = .error
        case .keepalive, .rateLimits: self = .news
        case .created, .delta, .outputItemAdded, .outputItemDone, .metadata, .contentFree: self = .content
        case .other, .unknown:
            self = unsafe event.typeName.utf8.starts(with: "response.steer.".utf8) ? .answer : .content
        }
    }
}
