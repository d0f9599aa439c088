import Foundation

/// A server that answers the head of every request, and closes.
///
/// Connections on which no request arrives are let alone.
final class AnsweringServer: Sendable {
    private let server: RawServer
    private let task: Task<Void, Never>

    var port: UInt16 { self.server.port }
    var baseURL: String { "http://127.0.0.1:\(self.port)/v1" }

    /// A server that gives the same answer to every request.
    convenience init(_ answer: String) throws { try self.init { _ in answer } }

    /// A server whose answer depends on the head of the request.
    init(_ answer: @escaping @Sendable (_ head: String) -> String) throws {
        let server = try RawServer()
        self.server = server
        self.task = Task {
            while let peer = try? await server.accept(within: nil), !Task.isCancelled {
                Task {
                    let head = await peer.read(until: "\r\n\r\n")
                    guard head.hasSuffix("\r\n\r\n") else { return }
                    peer.write(answer(head))
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
