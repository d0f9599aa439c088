// Decodes the bytes of one event to a `ResponseEvent`, in one scan, and without an allocation for a delta without
// escapes. Owned by the stream's one consumer.

import CSimdjson
import HTTPProtocol

/// Decodes the events of a response stream, one at a time.
///
/// Every byte of an event is checked: text that is not JSON to the end is an error, and so is an event without the
/// members that its type needs. Half of a surrogate pair in an escape becomes U+FFFD. Of members with the same name the
/// last one is used.
package struct ResponseEventDecoder: ~Copyable {
    /// Bytes that must be readable after the end of each event.
    ///
    /// Their content does not matter.
    package static let paddingByteCount = Int(CSJ_PADDING)

    /// The largest event of the few types that are read as whole documents: errors, usage limits, metadata.
    package static let maximumDocumentByteCount = 1 << 20

    private let scanner: JSONScanner
    private let maximumByteCount: Int
    /// The result of the last scan.
    ///
    /// It is allocated separately, because each call of the decoder would copy it.
    private let event: UnsafeMutablePointer<csj_event>

    /// Creates a decoder that refuses events of more than `maximumByteCount` bytes.
    package init(maximumByteCount: Int = 64 << 20) {
        self.scanner = JSONScanner()
        self.maximumByteCount = maximumByteCount
        self.event = .allocate(capacity: 1)
        self.event.initialize(to: csj_event())
    }

    deinit { self.event.deallocate() }

    /// Decodes one event.
    ///
    /// The 64 bytes past the end of `json` must be readable. Borrowed text in the result is valid until the next call,
    /// and only while the bytes of `json` are unchanged.
    package mutating func decode(_ json: UnsafeRawBufferPointer) throws(ResponseEventError) -> ResponseEvent {
        _ = try self.scan(json)
        return try self.scannedEvent(json)
    }

    /// Checks one event and finds the data that a turn needs: the first half of `decode`.
    ///
    /// - Returns: the delta, if it is one, names no lane and has no half of a surrogate pair at an end, as nearly every
    ///   event. For any other, `scannedEvent` returns the event until the next call.
    package mutating func scan(_ json: UnsafeRawBufferPointer) throws(ResponseEventError) -> ResponseEvent.Delta? {
        guard json.count <= self.maximumByteCount else { throw .tooLarge }
        let status = self.scanner.scan(json.assumingMemoryBound(to: UInt8.self), into: self.event)
        guard status == csj_ok else { throw ResponseEventError(status, field: self.event.pointee.wrong_field) }
        guard let kind = ResponseEvent.DeltaKind(self.event.pointee.type), self.event.pointee.stream_id.bytes == nil,
            self.event.pointee.delta_halves == 0, let text = BorrowedText(self.event.pointee.delta)
        else { return nil }
        return ResponseEvent.Delta(
            kind: kind, outputIndex: self.outputIndex, partIndex: self.partIndex(of: kind), text: text,
            sequenceNumber: Int(self.event.pointee.sequence_number),
            itemID: BorrowedText(identifier: self.event.pointee.item_id),
            shape: self.event.pointee.shape)
    }

    /// Returns the event that was scanned, whose bytes are `json`.
    package func scannedEvent(_ json: UnsafeRawBufferPointer) throws(ResponseEventError) -> ResponseEvent {
        ResponseEvent(
            kind: try self.kind(of: json.assumingMemoryBound(to: UInt8.self)),
            sequenceNumber: Int(presence: self.event.pointee.sequence_number),
            typeName: BorrowedText(self.event.pointee.type_name) ?? .empty,
            streamID: BorrowedText(self.event.pointee.stream_id),
            itemID: BorrowedText(identifier: self.event.pointee.item_id),
            deltaHalves: SurrogateHalves(self.event.pointee.delta_halves)
        )
    }

    /// The name of the function whose arguments the scanned event closes; nil when absent or empty.
    package var closingName: String? { String(identifier: self.event.pointee.closing_name) }

    /// simdjson's version at compile time.
    package static var libraryVersion: String {
        // Later versions include quotation marks in the macro.
        String(cString: csj_version()).filter { $0 != "\"" }
    }

    private func kind(of bytes: UnsafeBufferPointer<UInt8>) throws(ResponseEventError) -> ResponseEvent.Kind {
        if let kind = ResponseEvent.DeltaKind(self.event.pointee.type) { return self.delta(kind) }
        return switch self.event.pointee.type {
        case csj_event_created: .created(responseID: String(identifier: self.event.pointee.response.id))
        case csj_event_item_added: .outputItemAdded(outputIndex: self.outputIndex, self.item)
        case csj_event_item_done: .outputItemDone(outputIndex: self.outputIndex, self.item)
        case csj_event_completed: .completed(self.response)
        case csj_event_failed: .failed(self.response)
        case csj_event_incomplete: .incomplete(self.response)
        case csj_event_error: .error(ErrorEvent(try self.document(bytes)))
        case csj_event_rate_limits: .rateLimits(UsageLimitSnapshot(rateLimitsEvent: try self.document(bytes)))
        case csj_event_metadata: try self.metadata(bytes, hasTurnState: true)
        case csj_event_codex_metadata: try self.metadata(bytes, hasTurnState: false)
        case csj_event_keepalive: .keepalive
        case csj_event_queued, csj_event_in_progress:
            .contentFree(responseID: String(identifier: self.event.pointee.response.id))
        case csj_event_part_added, csj_event_websocket_timing: .contentFree(responseID: nil)
        case csj_event_text_done, csj_event_refusal_done, csj_event_reasoning_summary_done,
            csj_event_reasoning_text_done, csj_event_function_arguments_done, csj_event_custom_input_done,
            csj_event_content_part_done, csj_event_summary_part_done:
            self.partDone
        case csj_event_known_other: .other
        default: .unknown
        }
    }

    private var item: ItemSummary { ItemSummary(self.event.pointee.item, parts: self.event.pointee.parts) }

    private var response: ResponseSummary {
        ResponseSummary(self.event.pointee.response, items: self.event.pointee.items, parts: self.event.pointee.parts)
    }

    private var outputIndex: Int { Self.position(self.event.pointee.output_index) }

    /// Returns 0 for an absent index, and -1 for a number that is not a valid position.
    private static func position(_ index: Int64) -> Int {
        // Both are below zero, one after the other.
        Int(exactly: index < 0 ? index + 1 : index) ?? -1
    }

    /// Returns the part index; summaries are counted separately from contents.
    private func partIndex(of kind: ResponseEvent.DeltaKind) -> Int {
        Self.position(kind == .reasoningSummary ? self.event.pointee.summary_index : self.event.pointee.content_index)
    }

    private func delta(_ kind: ResponseEvent.DeltaKind) -> ResponseEvent.Kind {
        .delta(
            kind,
            outputIndex: self.outputIndex,
            partIndex: self.partIndex(of: kind),
            text: BorrowedText(self.event.pointee.delta) ?? .empty
        )
    }

    /// The event of a closed slot; servers may leave the text out, and the event is then without content, but for a name
    /// that closes a call.
    private var partDone: ResponseEvent.Kind {
        let name = BorrowedText(self.event.pointee.closing_name)
        guard let kind = ResponseEvent.DeltaKind(self.event.pointee.closing_kind),
            let text = BorrowedText(self.event.pointee.closing_text) ?? name.map({ _ in .empty })
        else { return .contentFree(responseID: nil) }
        return .partDone(kind, outputIndex: self.outputIndex, partIndex: self.partIndex(of: kind), text: text)
    }

    /// Returns the metadata event; only `response.metadata` carries the turn state, the other spelling only the model.
    private func metadata(
        _ bytes: UnsafeBufferPointer<UInt8>, hasTurnState: Bool
    ) throws(ResponseEventError) -> ResponseEvent.Kind {
        let headers = try self.document(bytes)["headers"]?.headerFields ?? []
        return .metadata(
            turnState: hasTurnState ? headers.firstValue(named: DialectFields.turnState) : nil,
            model: headers.firstValue(named: DialectFields.model)
        )
    }

    /// Reads a whole event again, for the few types that come once in a turn and have many members.
    private func document(_ bytes: UnsafeBufferPointer<UInt8>) throws(ResponseEventError) -> JSONDocumentValue {
        // Such an event holds facts, not content: a large one could only be an attack on memory.
        guard bytes.count <= Self.maximumDocumentByteCount else { throw .tooLarge }
        return try self.scanner.readValue(bytes)
    }
}

extension ResponseEvent.DeltaKind {
    /// Creates the kind; nil when the type is not that of a delta.
    fileprivate init?(_ type: csj_event_type) {
        // C has them in the same order. The numbers of lower types wrap around to large ones.
        self.init(rawValue: UInt8(truncatingIfNeeded: type.rawValue &- csj_event_text_delta.rawValue))
    }
}
