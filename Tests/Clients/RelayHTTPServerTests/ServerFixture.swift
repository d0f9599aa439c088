// Servers for tests, and the events that tests wait for.

import RelayHTTPServer
import StreamTransport

/// Values that callbacks give and a test awaits in order.
final class Events<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (self.stream, self.continuation) = AsyncStream.makeStream() }

    func add(_ value: Value) { self.continuation.yield(value) }

    /// Waits for the next value; one task waits at a time.
    func next() async -> Value? {
        var iterator = self.stream.makeAsyncIterator()
        return await iterator.next()
    }
}

/// A request that a handler was given, and its exchange.
struct Call: Sendable {
    var request: HTTPServerRequest
    var exchange: HTTPExchange

    /// The end of the exchange, when it comes.
    var end: HTTPExchange.End? {
        get async {
            let ends = Events<HTTPExchange.End>()
            self.exchange.whenEnded { ends.add($0) }
            return await ends.next()
        }
    }
}

/// Starts a server, runs a body with it, and stops it.
func withServer(
    _ configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    handler: @escaping HTTPServer.Handler,
    _ body: (HTTPServer) async throws -> Void
) async throws {
    var configuration = HTTPServerConfiguration()
    configure(&configuration)
    let server = try await HTTPServer.start(configuration, handler: handler)
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(server))
    } catch {
        result = .failure(error)
    }
    await server.stop(within: .zero)
    try result.get()
}

/// Starts a server whose requests a test answers itself.
func withCalls(
    _ configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    _ body: (HTTPServer, Events<Call>) async throws -> Void
) async throws {
    let calls = Events<Call>()
    try await withServer(configure, handler: { calls.add(Call(request: $0, exchange: $1)) }) { server in
        try await body(server, calls)
    }
}

/// Answers every request at once: with its method, its target and its body.
func echo(_ request: HTTPServerRequest, _ exchange: HTTPExchange) {
    let query = request.query.map { "?" + $0 } ?? ""
    let text = "\(request.method) \(request.path)\(query) \(String(decoding: request.body, as: UTF8.self))"
    try? exchange.respond(HTTPServerResponse(statusCode: 200, text: text))
}
