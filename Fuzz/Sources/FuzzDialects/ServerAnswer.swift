// The form of an input. Immutable.

/// The events of one answer, as an input has them.
///
/// The first byte says which API the answer is of and how its body ends: `c` and `m` are cut, `C` and `M` end in order. Each
/// further line is the data of an event, behind the event's type and a tab where it has one.
struct ServerAnswer {
    /// One server-sent event.
    struct Event {
        let type: [UInt8]
        let data: [UInt8]
    }

    /// Indicates whether the answer is a chat completion rather than one of Messages.
    let isChat: Bool
    /// Indicates whether the body ends in order behind the events.
    let endsInOrder: Bool
    let events: [Event]

    init(_ input: UnsafeRawBufferPointer) {
        let first = input.first ?? 0
        self.isChat = first & 0b10 != 0
        self.endsInOrder = first & 0b10_0000 == 0
        self.events = input.dropFirst().split(separator: UInt8(ascii: "\n")).map { line in
            guard let tab = line.firstIndex(of: UInt8(ascii: "\t")),
                line[..<tab].allSatisfy({ (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") })
            else { return Event(type: [], data: Array(line)) }
            return Event(type: Array(line[..<tab]), data: Array(line[(tab + 1)...]))
        }
    }
}
