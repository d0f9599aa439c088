// The engine's transport: sockets that are lists of what will happen.

import StreamTransport

/// Makes connections of one world.
struct SimulatedTransport: StreamTransport {
    let world: SimulatedWorld

    func connect(_ request: TransportRequest) -> any TransportConnection {
        let connection = SimulatedConnection(
            id: self.world.connections.count, request: request, world: self.world)
        self.world.connections.append(connection)
        connection.begin()
        return connection
    }

    func wait(for connections: [any TransportConnection], atMost duration: Duration?) async -> TransportWaitOutcome {
        await self.world.wait(for: connections.compactMap { $0 as? SimulatedConnection }, atMost: duration)
    }
}
