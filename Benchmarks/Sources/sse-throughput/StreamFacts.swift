// What is in a stream. A generator knows it from the values it put in, a reader from what it found.

/// The number of events of a stream, the bytes of their data, and checksums of what they carry.
struct StreamFacts: Equatable, Encodable {
    /// How many events there are.
    var eventCount = 0
    /// How many bytes of data they have, the LFs between lines included.
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
