package import StreamTransport

/// The next deadline of each connection: a binary heap with at most one entry for each.
///
/// It belongs to the service thread.
package struct DeadlineQueue {
    private struct Entry {
        var deadline: Moment
        let id: ConnectionID
    }

    private var entries: [Entry] = []
    private var positions: [ConnectionID: Int] = [:]

    /// Makes a queue without entries.
    package init() {}

    /// The nearest deadline of all.
    package var earliest: Moment? { self.entries.first?.deadline }

    /// Sets a connection's deadline if it has none or a later one; a later deadline than its own is ignored.
    package mutating func expect(_ deadline: Moment, for id: ConnectionID) {
        if let position = self.positions[id] {
            guard deadline < self.entries[position].deadline else { return }
            self.entries[position].deadline = deadline
            self.moveUp(from: position)
        } else {
            self.entries.append(Entry(deadline: deadline, id: id))
            self.positions[id] = self.entries.count - 1
            self.moveUp(from: self.entries.count - 1)
        }
    }

    /// Removes a connection.
    package mutating func remove(_ id: ConnectionID) {
        guard let position = self.positions.removeValue(forKey: id), let last = self.entries.popLast() else { return }
        guard position < self.entries.count else { return }
        self.entries[position] = last
        self.positions[last.id] = position
        self.moveUp(from: position)
        self.moveDown(from: position)
    }

    /// Removes every connection whose deadline has passed, and returns them, the nearest first.
    package mutating func takeDue(at now: Moment) -> [ConnectionID] {
        var due: [ConnectionID] = []
        while let first = self.entries.first, first.deadline <= now {
            due.append(first.id)
            self.remove(first.id)
        }
        return due
    }

    private mutating func moveUp(from start: Int) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 2
            guard self.entries[position].deadline < self.entries[parent].deadline else { return }
            self.exchange(position, parent)
            position = parent
        }
    }

    private mutating func moveDown(from start: Int) {
        var position = start
        while true {
            var nearest = position
            for child in 2 * position + 1...2 * position + 2
            where child < self.entries.count && self.entries[child].deadline < self.entries[nearest].deadline {
                nearest = child
            }
            guard nearest != position else { return }
            self.exchange(position, nearest)
            position = nearest
        }
    }

    private mutating func exchange(_ first: Int, _ second: Int) {
        self.entries.swapAt(first, second)
        self.positions[self.entries[first].id] = first
        self.positions[self.entries[second].id] = second
    }
}
