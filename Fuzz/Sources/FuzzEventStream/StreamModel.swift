// The parser's promises beyond the specification: the time of an item, the counting of a limit, the place of its end.

import ServerSentEvents

/// The largest number of bytes of an event's values, and of the value in one line.
struct StreamLimits {
    var event = Int.max
    var line = Int.max

    /// A parser with these limits.
    var parser: EventStreamParser {
        EventStreamParser(maximumEventByteCount: self.event, maximumLineByteCount: self.line)
    }
}

/// Reads a whole stream line by line and byte by byte, slowly, with one buffer for each value.
struct StreamModel {
    /// The result.
    private(set) var recording = Recording()
    /// The most bytes that the values of one event had at once.
    private(set) var largestByteCount = 0
    /// The most bytes that the value in one line had.
    private(set) var longestByteCount = 0

    private let bytes: [UInt8]
    private let limits: StreamLimits
    private var charged = 0
    private var lineCharged = 0
    private var data: [UInt8]?
    private var type: [UInt8]?
    private var id: [UInt8]?
    private var lastEventID: [UInt8]

    /// Reads a stream, which may continue another one.
    init(_ bytes: [UInt8], limits: StreamLimits = StreamLimits(), lastEventID: [UInt8] = []) {
        self.bytes = bytes
        self.limits = limits
        self.lastEventID = lastEventID
        self.recording.end = self.readLines()
        self.recording.lastEventID = EventBytes.decode(self.lastEventID)
    }

    private mutating func readLines() -> EventStreamEnd {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if self.bytes.count < 3, !self.bytes.isEmpty, mark.starts(with: self.bytes) {
            return .insideLine(pendingByteCount: 0)
        }
        var start = self.bytes.starts(with: mark) ? 3 : 0
        while start < self.bytes.count {
            let end = self.bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? self.bytes.count
            do throws(EventStreamError) {
                try self.readLine(start..<end)
            } catch {
                self.recording.error = error
                return .insideLine(pendingByteCount: self.charged)
            }
            guard end < self.bytes.count else { return .insideLine(pendingByteCount: self.charged) }
            let isPair = self.bytes[end] == 0x0D && end + 1 < self.bytes.count && self.bytes[end + 1] == 0x0A
            start = end + (isPair ? 2 : 1)
        }
        let hasStarted = self.data != nil || self.type != nil || self.id != nil
        return hasStarted ? .insideEvent(pendingByteCount: self.charged) : .clean
    }

    private mutating func readLine(_ line: Range<Int>) throws(EventStreamError) {
        let hasEnd = line.upperBound < self.bytes.count
        guard !line.isEmpty else { return self.dispatch(at: line.upperBound) }
        let colon = self.bytes[line].firstIndex(of: 0x3A)
        if colon == line.lowerBound {
            if hasEnd { self.record(.comment, at: line.upperBound) }
            return
        }
        // A name is one when a colon or the end of the line says so.
        guard let nameEnd = colon ?? (hasEnd ? line.upperBound : nil) else { return }
        var value = min(nameEnd + 1, line.upperBound)..<line.upperBound
        if let first = self.bytes[value].first, first == 0x20 { value = value.lowerBound + 1..<value.upperBound }
        self.lineCharged = 0
        switch String(decoding: self.bytes[line.lowerBound..<nameEnd], as: UTF8.self) {
        case "data": try self.readData(value, nameEnd: nameEnd)
        case "event": try self.readType(value)
        case "id": try self.readID(value, hasEnd: hasEnd)
        case "retry": if hasEnd { self.readRetry(value) }
        default: break
        }
    }

    private mutating func readData(_ value: Range<Int>, nameEnd: Int) throws(EventStreamError) {
        if self.data != nil { try self.charge(nameEnd) }
        var data = self.data.map { $0 + [0x0A] } ?? []
        defer { self.data = data }
        for offset in value {
            try self.chargeValue(offset)
            data.append(self.bytes[offset])
        }
    }

    /// The last type of an event counts, and takes the place of the one before.
    private mutating func readType(_ value: Range<Int>) throws(EventStreamError) {
        self.charged -= self.type?.count ?? 0
        var type: [UInt8] = []
        defer { self.type = type }
        for offset in value {
            try self.chargeValue(offset)
            type.append(self.bytes[offset])
        }
    }

    /// The ID before is held until the line has ended, because a NUL voids the line.
    private mutating func readID(_ value: Range<Int>, hasEnd: Bool) throws(EventStreamError) {
        var id: [UInt8] = []
        for offset in value {
            if self.bytes[offset] == 0 {
                self.charged -= id.count
                return
            }
            try self.chargeValue(offset)
            id.append(self.bytes[offset])
        }
        guard hasEnd else { return }
        self.charged -= self.id?.count ?? 0
        self.id = id
    }

    private mutating func readRetry(_ value: Range<Int>) {
        var time = 0
        for byte in self.bytes[value] {
            guard (0x30...0x39).contains(byte) else { return }
            let (product, isTooLarge) = time.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = product.addingReportingOverflow(Int(byte) - 0x30)
            if isTooLarge || isSumTooLarge { return }
            time = sum
        }
        if !value.isEmpty { self.record(.reconnectionTime(time), at: value.upperBound) }
    }

    private mutating func dispatch(at offset: Int) {
        if let id = self.id { self.lastEventID = id }
        if let data = self.data {
            let type = self.type ?? []
            let event = EventBytes(
                type: type.isEmpty ? Array("message".utf8) : type, data: data, lastEventID: self.lastEventID)
            self.record(.event(event), at: offset)
        }
        (self.data, self.type, self.id, self.charged) = (nil, nil, nil, 0)
    }

    /// Records what the line terminator at an offset completes.
    private mutating func record(_ item: RecordedItem, at offset: Int) {
        self.recording.items.append(item)
        self.recording.offsets.append(offset + 1)
    }

    /// Charges a byte of a line's value; the LF between two values belongs to no line.
    private mutating func chargeValue(_ offset: Int) throws(EventStreamError) {
        // A value that is too large for the event is not the line's fault.
        guard self.lineCharged < self.limits.line || self.charged >= self.limits.event else {
            throw .lineTooLong(maximumByteCount: self.limits.line, byteOffset: offset)
        }
        try self.charge(offset)
        self.lineCharged += 1
        self.longestByteCount = max(self.longestByteCount, self.lineCharged)
    }

    private mutating func charge(_ offset: Int) throws(EventStreamError) {
        guard self.charged < self.limits.event else {
            throw .eventTooLarge(maximumByteCount: self.limits.event, byteOffset: offset)
        }
        self.charged += 1
        self.largestByteCount = max(self.largestByteCount, self.charged)
    }
}
