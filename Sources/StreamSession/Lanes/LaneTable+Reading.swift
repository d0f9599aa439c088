/// Who reads the socket for all the others, and when nobody does.
///
/// There is always a reader while anybody waits; it also keeps the others' time. Nobody is appointed who does not wait.
extension LaneTable {
    /// Whether the socket may be read: no member has too much unread.
    package var mayRead: Bool { self.full.isEmpty }

    /// A member has no events and waits for some.
    package mutating func waits(_ member: Member) -> Waiting {
        guard self.reader == nil || self.reader == member else {
            if !self.sleepers.contains(member) { self.sleepers.append(member) }
            return .sleeps
        }
        self.sleepers.removeAll { $0 == member }
        self.reader = member
        return .reads
    }

    /// A member waits no more, for whatever reason; returns who reads from then on, if that changes.
    package mutating func stoppedWaiting(_ member: Member) -> Member? {
        self.sleepers.removeAll { $0 == member }
        guard self.reader == member else { return nil }
        self.reader = nil
        return self.nextReader()
    }

    /// A member sleeps no more, because it has events; the reader stays what it is.
    package mutating func stoppedSleeping(_ member: Member) { self.sleepers.removeAll { $0 == member } }

    /// Takes the role of the reader for a moment; false when somebody has it.
    package mutating func takesRole(_ member: Member) -> Bool {
        guard self.reader == nil else { return false }
        self.reader = member
        return true
    }

    /// Bytes were put aside for a member.
    package mutating func put(_ byteCount: Int, for member: Member) {
        guard self.entries[member] != nil else { return }
        let count = self.unreadByteCounts[member, default: 0] + byteCount
        self.unreadByteCounts[member] = count
        if count >= self.highWatermark { self.full.insert(member) }
    }

    /// A member has taken what was put aside for it, but for so many bytes; true when that lets reading go on.
    package mutating func took(_ member: Member, leaving byteCount: Int) -> Bool {
        guard self.entries[member] != nil else { return false }
        self.unreadByteCounts[member] = byteCount
        guard byteCount <= self.lowWatermark, self.full.remove(member) != nil else { return false }
        return self.full.isEmpty
    }

    /// Appoints the one who has waited longest.
    mutating func nextReader() -> Member? {
        guard self.reader == nil, !self.sleepers.isEmpty else { return nil }
        self.reader = self.sleepers.removeFirst()
        return self.reader
    }
}
