// Many connections of `WebSocketClient` at the same time, each read by a task of its own.
import WebSocketClient

/// Connections that have had their first messages, and whose tasks wait for more.
///
/// It belongs to the task that measures.
final class ClientCrowd {
    private let port: UInt16
    private var tasks: [Task<Void, any Error>] = []
    private let (arrivals, arrival) = AsyncStream.makeStream(of: Bool.self)

    init(port: UInt16) { self.port = port }

    /// Opens connections, a few at a time, until `count` of them have had a delta.
    func grow(to count: Int) async throws {
        while self.tasks.count < count {
            let more = min(100, count - self.tasks.count)
            for _ in 0..<more { self.tasks.append(self.read()) }
            var arrived = 0
            for await isThere in self.arrivals {
                guard isThere else { throw WrongResultError("a connection failed after \(self.tasks.count)") }
                arrived += 1
                if arrived == more { break }
            }
        }
    }

    private func read() -> Task<Void, any Error> {
        let (port, arrival) = (self.port, self.arrival)
        return Task.detached {
            do {
                let connection = try await WebSocketConnection.open(.benchmark(port: port))
                try await connection.send(ClientReader.request)
                var count = 0
                // The first message is no delta.
                while try await connection.withNextMessage({ _, _ in count += 1 }) != nil {
                    if count == 2 { arrival.yield(true) }
                }
            } catch {
                arrival.yield(false)
                throw error
            }
        }
    }

    func cancel() {
        for task in self.tasks { task.cancel() }
    }
}
