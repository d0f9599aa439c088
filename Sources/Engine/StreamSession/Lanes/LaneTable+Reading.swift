/// The choice of the member that reads the socket for all the others.
///
/// There is a reader as long as a member waits; it also keeps the others' time. Only a waiting member is appointed.
extension LaneTable {
    /// Indicates whether the socket may be read: no member has too much unread.
    package var mayRead: Bool { self.full.isEmpty }

    /// Records that a member has no events and waits for some; returns whether it reads or sleeps.
    package mutating func waits(_ member: Member) -> Waiting {
        guard self.reader == nil || self.reader == member else {
            if !self.sleepers.contains(member) { self.sleepers.append(member) }
            return .sleeps
        }
        self.sleepers.removeAll { $0 == member }
        self.reader = member
        return .reads
    }

    /// Records that a member waits no more, for any reason; returns the new reader, if that changes.
    package mutating func stoppedWaiting(_ member: Member) -> Member? {
        self.sleepers.removeAll { $0 == member }
        guard self.reader == member else { return nil }
        self.reader = nil
        return self.nextReader()
    }

    /// Records that a member sleeps no more, because it has events; the reader does not change.
    package mutating func stoppedSleeping(_ member: Member) { self.sleepers.removeAll { $0 == member } }

    /// Takes the role of the reader for a moment; returns false when another member has it.
    package mutating func takesRole(_ member: Member) -> Bool {
        guard self.reader == nil else { return false }
        self.reader = member
        return true
    }

    /// Records that bytes were put aside for a member.
    package mutating func put(_ byteCount: Int, for member: Member) {
        guard self.entries[member] != nil else { return }
        let count = self.unreadByteCounts[member, default: 0] + byteCount
        self.unreadByteCounts[member] = count
        if count >= self.highWatermark { self.full.insert(member) }
    }

    /// Records that a member has taken what was put aside for it except `byteCount` bytes; returns true when reading
    /// may resume.
    package mutating func took(_ member: Member, leaving byteCount: Int) -> Bool {
        guard self.entries[member] != nil else { return false }
        self.unreadByteCounts[member] = byteCount
        guard byteCount <= self.lowWatermark, self.full.remove(member) != nil else { return false }
        return self.full.isEmpty
    }

    /// Appoints the member that has waited longest.
    mutating func nextReader() -> Member? {
        guard self.reader == nil, !self.sleepers.isEmpty else { return nil }
        self.reader = self.sleepers.removeFirst()
        return self.reader
    }
}
