// A server of `RelayHTTPServer` to be tried by hand, and what a viewer of it costs.
//
//   relay-viewers serve [PORT] [CHAIN.pem KEY.pem]   GET / is "hello", POST / echoes, GET /stream?N streams N chunks,
//                                                    /socket is a WebSocket that echoes, GET /open streams until
//                                                    POST /fan?N has sent N chunks to all that have asked for it
//   relay-viewers memory [COUNT] [tls]               the resident memory for each of COUNT idle viewers (1,000), which
//                                                    viewers.py opens

import CProcessMemory
import CTestServerTLS
import PlatformC
import RelayHTTPServer
import StreamTransport

/// The exchanges of `/open`.
let viewers = LockedValue<[HTTPExchange]>([])

/// Sends chunks to all viewers, and ends their responses; each chunk is one array.
func fan(_ count: Int) {
    let all = viewers.withLock { viewers in
        defer { viewers = [] }
        return viewers
    }
    for number in 0..<count {
        let chunk = Array("data: \(number)\n\n".utf8)
        for viewer in all { _ = viewer.offer(chunk) }
    }
    for viewer in all { viewer.finish() }
}

func answer(_ request: HTTPServerRequest, _ exchange: HTTPExchange) {
    do {
        switch (request.method, request.path) {
        case (_, "/socket") where request.isWebSocketUpgrade:
            try exchange.accept(subprotocol: request.offeredSubprotocols?.first)
            exchange.run {
                while let text = await exchange.receive() { try? await exchange.send(text) }
            }
        case (_, "/stream"):
            try exchange.begin(fields: [("Content-Type", "text/event-stream")])
            let count = request.query.flatMap { Int($0) } ?? 3
            exchange.run {
                for number in 0..<count { try? await exchange.write(Array("data: \(number)\n\n".utf8)) }
                exchange.finish()
            }
        case (_, "/open"):
            try exchange.begin(fields: [("Content-Type", "text/event-stream")])
            _ = exchange.offer(Array("data: first\n\n".utf8))
            viewers.withLock { $0.append(exchange) }
        case ("POST", "/fan"):
            let count = request.query.flatMap { Int($0) } ?? 1
            exchange.run {
                fan(count)
                try? exchange.respond(HTTPServerResponse(statusCode: 204))
            }
        case ("POST", _):
            try exchange.respond(HTTPServerResponse(statusCode: 200, body: request.body))
        case ("OPTIONS", _):
            let fields = [("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Methods", "GET, POST")]
            try exchange.respond(HTTPServerResponse(statusCode: 204, fields: fields))
        default:
            try exchange.respond(HTTPServerResponse(statusCode: 200, text: "hello\n"))
        }
    } catch {
        exchange.abort()
    }
}

/// Writes a certificate for localhost and its key to the folder of temporary files.
func makeCertificate() -> HTTPServerConfiguration.TLSFiles? {
    var options = ctts_identity_options()
    guard let identity = ctts_identity_create(&options) else { return nil }
    defer { ctts_identity_free(identity) }
    let folder = "/tmp/relay-viewers-\(getpid())"
    mkdir(folder, 0o700)
    func write(_ text: String, to name: String) -> String {
        let path = "\(folder)/\(name)"
        guard let file = fopen(path, "w") else { return path }
        fputs(text, file)
        fclose(file)
        return path
    }
    return HTTPServerConfiguration.TLSFiles(
        certificateChain: write(String(cString: ctts_identity_leaf_pem(identity)), to: "chain.pem"),
        privateKey: write(String(cString: ctts_identity_leaf_key_pem(identity)), to: "key.pem"))
}

/// The resident memory of the process, in bytes.
func residentByteCount() -> Int {
    process_memory_trim()
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, CInt(line.count), file) != nil else { return 0 }
    let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
        separator: " ")
    return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * Int(sysconf(CInt(_SC_PAGESIZE)))
}

/// Prints a line at once, for a program that waits for it.
func say(_ text: String) {
    print(text)
    fflush(nil)
}

let arguments = Array(CommandLine.arguments.dropFirst())
var configuration = HTTPServerConfiguration()
switch arguments.first {
case "serve":
    configuration.port = arguments.count > 1 ? UInt16(arguments[1]) ?? 0 : 0
    if arguments.count > 3 { configuration.tls = .init(certificateChain: arguments[2], privateKey: arguments[3]) }
    let server = try await HTTPServer.start(configuration, handler: answer)
    say("port \(server.port)")
    while true { pause() }
case "memory":
    let count = arguments.count > 1 ? Int(arguments[1]) ?? 1_000 : 1_000
    if arguments.last == "tls" { configuration.tls = makeCertificate() }
    let server = try await HTTPServer.start(configuration, handler: answer)
    // The viewers are sockets of another process, so that only the server's memory is counted.
    say("port \(server.port)")
    _ = readLine()
    let before = residentByteCount()
    say("warm")
    _ = readLine()
    let after = residentByteCount()
    say("connections \(server.connectionCount), resident before \(before / 1_024) KiB, after \(after / 1_024) KiB")
    say("a viewer: \(Double(after - before) / 1_024 / Double(count)) KiB")
default:
    say("usage: relay-viewers serve [PORT] [CHAIN.pem KEY.pem] | memory [COUNT] [tls]")
    exit(2)
}
