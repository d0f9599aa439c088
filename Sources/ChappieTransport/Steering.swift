import StreamTransport

/// What can be steered, and what was.
///
/// It stands in what other tasks may touch, under the turn's lock.
struct Steering {
    /// What can be steered now.
    enum Target {
        /// Nothing.
        case none
        /// Nothing yet: the response has no name.
        case unnamed
        /// Nothing ever, on this connection.
        case http
        /// This response, on this connection.
        case response(id: String, connection: any TransportConnection)
    }

    /// How far one steering is.
    private enum Progress {
        case sent
        /// The server has taken it, for this response or for the next request.
        case accepted
    }

    /// One steering that the server has not settled.
    private struct Entry {
        let items: [[UInt8]]
        var progress: Progress = .sent
    }

    var target: Target = .none
    /// Whether anything was ever sent.
    private(set) var isUsed = false
    private var entries: [Entry] = []
    /// What the program threw that did not let a steering go out.
    var refusal: (any Error)?

    /// Whether the server still owes something for a steering.
    var isOpen: Bool { !self.entries.isEmpty }

    /// The response and the connection that can be steered.
    func running() throws(ChappieSteeringError) -> (id: String, connection: any TransportConnection) {
        switch self.target {
        case .none: throw .notRunning
        case .unnamed: throw .notCreated
        case .http: throw .notOverWebSocket
        case .response(let id, let connection): return (id, connection)
        }
    }

    /// Items go out.
    mutating func sent(_ items: [[UInt8]]) {
        self.isUsed = true
        self.entries.append(Entry(items: items))
    }

    /// The server has taken the oldest steering that it had not answered.
    mutating func accepted() {
        guard let index = self.entries.firstIndex(where: { $0.progress == .sent }) else { return }
        self.entries[index].progress = .accepted
    }

    /// The server keeps a steering for the next request.
    mutating func pending() {
        if !self.entries.contains(where: { $0.progress == .accepted }) { self.accepted() }
    }

    /// The server has refused a steering: it is no part of this response, nor of another.
    mutating func refused() {
        let index = self.entries.firstIndex { $0.progress == .sent } ?? self.entries.indices.first
        if let index { self.entries.remove(at: index) }
    }

    /// The response is complete: the items that the server has taken and not used, in order, and whether there are
    /// others, which it has not taken.
    ///
    /// The connection is not used again, so they go with the next request. The server still owes something for them.
    var unused: (items: [[UInt8]], hasOthers: Bool) {
        let taken = self.entries.filter { $0.progress == .accepted }
        return (taken.flatMap(\.items), taken.count < self.entries.count)
    }

    /// The response has ended for what was put into it: those items, in order.
    ///
    /// A server that did not say what it has taken has taken the oldest.
    mutating func takeUsed() -> [[UInt8]] {
        var used = self.entries.filter { $0.progress == .accepted }
        self.entries.removeAll { $0.progress == .accepted }
        if used.isEmpty, !self.entries.isEmpty { used = [self.entries.removeFirst()] }
        return used.flatMap(\.items)
    }
}
