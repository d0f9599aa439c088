import PlatformC

/// A peer on a port of 127.0.0.1 that answers whatever it reads with the same bytes.
final class FixedAnswerPeer: Sendable {
    let port: UInt16
    private let listener: CInt

    init(_ answer: String) throws {
        let listener = SystemSocket.open(family: AF_INET)
        let port = try RedisServer.freePort(boundTo: listener)
        guard listen(listener, 8) == 0 else { throw RedisServer.Failure(description: "cannot listen") }
        self.listener = listener
        self.port = port
        let bytes = Array(answer.utf8)
        // It alone closes the listener: a descriptor that was closed elsewhere may be the next peer's when it accepts.
        _ = SystemThread.startDetached {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else {
                    close(listener)
                    return
                }
                var buffer = [UInt8](repeating: 0, count: 1 << 16)
                while recv(connection, &buffer, buffer.count, 0) > 0 {
                    _ = send(connection, bytes, bytes.count, SystemSocket.sendingFlags)
                }
                close(connection)
            }
        }
    }

    deinit {
        // Ends `accept` in the other thread.
        shutdown(self.listener, CInt(SHUT_RDWR))
    }
}
