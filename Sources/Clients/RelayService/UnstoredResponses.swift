/// The newest responses with `store` false of one WebSocket, which alone may continue them.
///
/// A value.
struct UnstoredResponses {
    /// The number of responses that are kept.
    ///
    /// A conversation continues its newest response; the others are beginnings of branches.
    static let limit = 100

    /// The identifiers, the oldest first.
    private var ids: [String] = []

    func contains(_ id: String) -> Bool { self.ids.contains(id) }

    /// Adds a response, and forgets the oldest one above the limit.
    mutating func insert(_ id: String) {
        self.ids.append(id)
        if self.ids.count > Self.limit { self.ids.removeFirst() }
    }

    mutating func remove(_ id: String) { self.ids.removeAll { $0 == id } }
}
