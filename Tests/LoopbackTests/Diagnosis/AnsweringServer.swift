import Foundation

/// A server that gives the same answer to the head of every request, and closes.
///
/// Connections on which no request arrives are let alone.
final class AnsweringServer: Sendable {
    private let server: RawServer
    private let task: Task<Void, Never>

    var port: UInt16 { self.server.port }
    var baseURL: String { "http://127.0.0.1:\(self.port)/v1" }

    init(_ answer: String) throws {
        let server = try RawServer()
        self.server = server
        self.task = Task {
            while let peer = try? await server.accept(), !Task.isCancelled {
                Task {
                    guard await peer.read(until: "\r\n\r\n").hasSuffix("\r\n\r\n") else { return }
                    peer.write(answer)
                    peer.endWriting()
                    _ = await peer.readToEnd()
                }
            }
        }
    }

    deinit {
        self.task.cancel()
        _ = RawServer.connectAndClose(to: self.server.port)
    }

    /// A response with a body.
    static func response(_ status: String, _ fields: [String] = [], body: String = "") -> String {
        (["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + fields)
            .joined(separator: "\r\n") + "\r\n\r\n" + body
    }
}
