import ResponseEvents
import StreamSession
import StreamTransport

/// Determines the lane and the kind of a message.
extension LaneMessage {
    /// Reads a message that may name the lane at any place.
    init(_ payload: InboundPayload, with decoder: inout ResponseEventDecoder) {
        guard payload.kind == .text, let event = unsafe try? decoder.decode(payload.bytes) else {
            self.init(lane: nil, kind: .unreadable)
            return
        }
        // A request cannot have a longer name.
        let lane = event.streamID.map { $0.byteCount > 256 ? "?" : String($0) }
        let (name, isAnnouncement) = event.laneName
        self.init(
            lane: lane?.isEmpty == false ? lane : nil, kind: Kind(event), name: name, isAnnouncement: isAnnouncement)
    }
}

extension ResponseEvent {
    /// The fingerprint of the identifier that assigns the event, 0 when there is none, and whether it is announced
    /// here.
    fileprivate var laneName: (UInt64, isAnnouncement: Bool) {
        switch self.kind {
        case .created(let responseID): (EventFingerprint.of(identifier: responseID), true)
        case .outputItemAdded(_, let item): (item.fingerprint, true)
        case .contentFree(let responseID): (EventFingerprint.of(identifier: responseID), false)
        case .completed(let summary), .failed(let summary), .incomplete(let summary):
            (EventFingerprint.of(identifier: summary.id), false)
        case .outputItemDone(_, let item): (item.fingerprint, false)
        case .delta, .partDone: (self.itemName, false)
        case .error, .keepalive, .rateLimits, .metadata, .other, .unknown: (0, false)
        }
    }
}

extension LaneMessage.Kind {
    fileprivate init(_ event: ResponseEvent) {
        switch event.kind {
        case .completed, .failed: self = .end
        // A steered response is followed by another one, which is not requested separately.
        case .incomplete(let summary): self = summary.incompleteReason == "steered" ? .content : .end
        case .error: self = .error
        case .keepalive, .rateLimits: self = .news
        case .created: self = .created
        case .delta, .partDone, .outputItemAdded, .outputItemDone, .metadata, .contentFree: self = .content
        case .other, .unknown:
            self = LaneMessage.SteeringAnswer(type: event.typeName).map { .answer($0) } ?? .content
        }
    }
}

extension LaneMessage.SteeringAnswer {
    /// Creates the meaning of an event of a type; nil for a type that is no answer to added input.
    fileprivate init?(type: BorrowedText) {
        switch unsafe String(decoding: type.utf8.prefix(32), as: UTF8.self) {
        case "response.steer.accepted": self = .accepted
        case "response.steer.pending": self = .pending
        case "response.steer.failed": self = .failed
        default: return nil
        }
    }
}

/// The parts of a message to the server that matter for lanes.
struct LaneRequest {
    /// The lane that it names; nil when it names none.
    let lane: String?

    /// Reads a message; returns nil when it does not request a response, as one that steers does not.
    init?(_ message: [UInt8]) {
        let padding = ResponseEventDecoder.paddingByteCount
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: message.count + padding, alignment: 64)
        defer { unsafe copy.deallocate() }
        unsafe copy.copyBytes(from: message)
        unsafe copy[message.count...].initializeMemory(as: UInt8.self, repeating: 0)
        var decoder = ResponseEventDecoder(maximumByteCount: message.count)
        guard let event = unsafe try? decoder.decode(UnsafeRawBufferPointer(rebasing: copy[..<message.count])),
            unsafe event.typeName.utf8.elementsEqual("response.create".utf8)
        else { return nil }
        self.lane = event.streamID.map { String($0) }
    }
}
