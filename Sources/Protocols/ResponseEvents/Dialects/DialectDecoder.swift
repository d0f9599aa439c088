// The seam between a dialect and the reader of a response.

import CSimdjson

/// Decodes the events of one answer in another API to the events with which the Responses API would say the same.
///
/// Owned by the driver of a turn, one for each attempt. Text is passed on as it was written, with its escapes. It is a
/// class, so that a turn of the Responses API holds only an empty reference to it.
package protocol DialectDecoder: AnyObject {
    /// The type under which a consumer gets the event that was read last.
    var eventType: String { get }

    /// Reads the data of one event, behind which 64 bytes are readable, with the type of the server-sent event.
    func read(
        _ data: UnsafeRawBufferPointer, named type: UnsafeRawBufferPointer
    ) throws(ResponseEventError) -> DialectReading

    /// Returns whether data, behind which 64 bytes are readable, proves the end of an answer.
    func isTerminal(_ data: UnsafeRawBufferPointer) -> Bool

    /// Returns the events that end the answer when the body ends in order; none where that proves nothing, and none the
    /// second time.
    func end() -> TranslatedEvents
}

/// The meaning of one event's data in another API.
package enum DialectReading {
    /// An event of the dialect, with the events that it stands for; `isSurfaced` says that output is among them.
    case event(TranslatedEvents, isSurfaced: Bool)
    /// An event of the dialect that is nothing but more output of the item whose output was read last.
    case output(TranslatedDelta)
    /// The mark of the end, with the events of the end; none before the answer's own statement about it.
    case end(TranslatedEvents)
    /// An event of another API.
    case otherAPI(ChappieDialect)
    /// Anything else, such as an error.
    case other
}

extension JSONScanner {
    /// The largest event of another API: its values are listed in memory that may be a few times as large.
    static let maximumEventByteCount = 16 << 20

    /// Lists the values of an event's data, behind which 64 bytes are readable, down to `depth` levels; nil for data that
    /// is no JSON object.
    func nodes(
        ofEvent data: UnsafeRawBufferPointer, depth: Int
    ) throws(ResponseEventError) -> UnsafeBufferPointer<csj_node>? {
        guard data.count <= Self.maximumEventByteCount else { throw .tooLarge }
        do throws(ResponseEventError) {
            return try self.nodes(of: data.assumingMemoryBound(to: UInt8.self), depth: depth)
        } catch {
            if error == .notJSON || error == .notObject { return nil }
            throw error
        }
    }
}

extension DialectDecoder {
    /// Returns whether data is `[DONE]`, which servers write with white space around it.
    static func isEndMark(_ data: UnsafeRawBufferPointer) -> Bool {
        let mark = "[DONE]".utf8
        guard data.count >= mark.count, data.count <= 64 else { return false }
        let isSpace: (UInt8) -> Bool = { " \t\r\n".utf8.contains($0) }
        let text = Array(data.drop(while: isSpace))
        return text.starts(with: mark) && text.dropFirst(mark.count).allSatisfy(isSpace)
    }
}
