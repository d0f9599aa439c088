// Many connections of `WebSocketClient` at the same time, each read by a task of its own.
import WebSocketClient

/// Connections that have had their first messages, and whose tasks wait for more.
///
/// It belongs to the task that measures.
final class ClientCrowd {
    private let port: UInt16
    private let crowd = TaskCrowd<Void>()

    init(port: UInt16) { self.port = port }

    /// Opens connections, a few at a time, until `count` of them have had a delta.
    func grow(to count: Int) async throws { try await self.crowd.grow(to: count) { self.read($0) } }

    private func read(_ arrival: AsyncStream<Bool>.Continuation) -> Task<Void, any Error> {
        let port = self.port
        return Task.detached {
            do {
                let connection = try await WebSocketConnection.open(.benchmark(port: port))
                try await connection.send(ClientReader.request)
                var count = 0
                // The first message is no delta.
                while try await connection.withNextMessage({ _, _ in count += 1 }) != nil {
                    if count == 2 { arrival.yield(true) }
                }
                guard count >= 2 else { throw WrongResultError("a connection ended without a delta") }
            } catch {
                arrival.yield(false)
                throw error
            }
        }
    }

    func cancel() { self.crowd.cancel() }
}
