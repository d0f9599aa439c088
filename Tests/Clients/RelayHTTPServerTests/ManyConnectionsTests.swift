// A thousand viewers of one stream.

import RelayHTTPServer
import StreamTransport
import Testing

@Suite struct ManyConnectionsTests {
    @Test func aThousandViewersGetEveryChunk() async throws {
        let exchanges = LockedValue<[HTTPExchange]>([])
        let arrived = Events<Int>()
        try await withServer(handler: { _, exchange in
            try? exchange.begin(fields: [("Content-Type", "text/event-stream")])
            arrived.add(
                exchanges.withLock { all in
                    all.append(exchange)
                    return all.count
                })
        }) { server in
            let count = 1_000
            let port = server.port
            let clients = try await blocking {
                try (0..<count).map { _ in
                    let client = try RawClient(port: port)
                    try client.sendNow(Array("GET / HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
                    return client
                }
            }
            while let number = await arrived.next(), number < count {}
            #expect(server.connectionCount == count)
            let chunks = (0..<20).map { Array("data: chunk \($0)\n\n".utf8) }
            let viewers = exchanges.withLock { $0 }
            for chunk in chunks {
                for viewer in viewers { #expect(viewer.offer(chunk) == .accepted) }
            }
            for viewer in viewers { viewer.finish() }
            let expected = String(decoding: chunks.joined(), as: UTF8.self)
            let wrongCount = try await blocking {
                try clients.reduce(0) { $0 + (try $1.takeResponseNow().body == expected ? 0 : 1) }
            }
            #expect(wrongCount == 0)
        }
    }
}
