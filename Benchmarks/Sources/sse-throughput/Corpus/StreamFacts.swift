// The facts of a stream: a generator has them from the values that it writes, a reader from those that it finds.

/// The number of events of a stream, the bytes of their data, and checksums of their content.
struct StreamFacts: Equatable, Encodable {
    /// The number of events.
    var eventCount = 0
    /// The bytes of their data, the LFs between lines included.
    var dataByteCount = 0
    /// CRC-32 of the data of each event and a NUL.
    var dataChecksum: UInt32 = 0
    /// CRC-32 of the type, the data and the last event ID of each event, each with a NUL.
    var checksum: UInt32 = 0
}

/// Facts that grow by one event at a time.
struct StreamFactsCounter {
    private var eventCount = 0
    private var dataByteCount = 0
    private var dataChecksum = CRC32()
    private var checksum = CRC32()

    /// The facts of the events so far.
    var facts: StreamFacts {
        StreamFacts(
            eventCount: self.eventCount, dataByteCount: self.dataByteCount, dataChecksum: self.dataChecksum.value,
            checksum: self.checksum.value)
    }

    /// Counts an event.
    mutating func add(type: UnsafeRawBufferPointer, data: UnsafeRawBufferPointer, lastEventID: UnsafeRawBufferPointer) {
        self.eventCount += 1
        self.dataByteCount += data.count
        self.dataChecksum.add(data)
        self.checksum.add(type)
        self.checksum.add(data)
        self.checksum.add(lastEventID)
    }
}
