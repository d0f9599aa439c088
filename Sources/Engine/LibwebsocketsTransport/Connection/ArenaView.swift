/// The service thread's last knowledge of an arena: a lower bound of its room, and the consumer to resume.
///
/// It belongs to the service thread.
struct ArenaView {
    /// The consumer to resume when the round ends: it waited, and has an event to read.
    private var waiter: InboundArena.Waiter?
    /// A lower bound of the arena's room.
    private var knownRoom = 0

    /// Returns the number of bytes that may arrive before reading must pause.
    ///
    /// The known room saves a lock, unless it limits the read.
    func room(of arena: InboundArena, sharing share: Int) -> Int {
        let isKnown = share == .max && self.knownRoom >= InboundBuffer.readByteCount
        return isKnown ? self.knownRoom : arena.room(sharing: share)
    }

    /// Follows what the arena has said about the bytes that were appended; returns whether a consumer waits.
    mutating func follow(_ appended: InboundArena.Appended) -> Bool {
        self.knownRoom = appended.room
        guard let waiter = appended.waiter else { return false }
        self.waiter = waiter
        return true
    }

    /// Takes the consumer that is to be resumed.
    mutating func takeWaiter() -> InboundArena.Waiter? { self.waiter.take() }
}
