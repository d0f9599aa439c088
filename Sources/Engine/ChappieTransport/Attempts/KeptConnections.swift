/// The WebSockets that wait for the next turn of their lane, one each.
///
/// Of those that were opened with requests' own fields, one for each name of a lane: such fields may be different each
/// time.
///
/// A value of the engine's state. Every connection that it takes is returned by one of its functions, to be closed or
/// used.
struct KeptConnections {
    /// The maximum number of kept connections: a server takes 32 lanes with a name on a socket.
    static let maximumCount = 33

    private var connections: [Lane: KeptConnection] = [:]

    /// Keeps a connection; returns the one that it replaces.
    mutating func keep(_ connection: KeptConnection) -> KeptConnection? {
        if let known = self.connections.updateValue(connection, forKey: connection.lane) { return known }
        if !connection.lane.fieldLines.isEmpty,
            let other = self.connections.keys.first(where: { $0.hasOtherFields(than: connection.lane) })
        {
            return self.connections.removeValue(forKey: other)
        }
        guard self.connections.count > Self.maximumCount,
            let oldest = self.connections.values.min(by: { $0.keptAt < $1.keptAt })
        else { return nil }
        return self.connections.removeValue(forKey: oldest.lane)
    }

    /// Takes the connection of a lane.
    mutating func take(_ lane: Lane) -> KeptConnection? { self.connections.removeValue(forKey: lane) }

    /// Takes all connections.
    mutating func takeAll() -> [KeptConnection] {
        defer { self.connections.removeAll() }
        return Array(self.connections.values)
    }

    /// The connection of a lane, without taking it.
    subscript(lane: Lane) -> KeptConnection? { self.connections[lane] }
}

extension Lane {
    /// Returns whether both have the same name, and own fields that differ.
    fileprivate func hasOtherFields(than other: Self) -> Bool {
        self.name == other.name && !self.fieldLines.isEmpty && self.fieldLines != other.fieldLines
    }
}
