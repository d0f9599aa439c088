// A client of the Model Context Protocol: it lists a server's tools, calls one where it is named, and prints every
// message of the server.
//
//     swift run ModelContext URL [TOOL [ARGUMENTS]]
//
// The arguments are a JSON object.
import Foundation

let version = "2025-11-25"

/// Speaks with a server.
func converse(_ endpoint: URL, tool: String?, arguments: String) async throws {
    let transport = StreamableHTTPTransport(endpoint: endpoint)
    try await transport.connect()
    let messages = await transport.receive()
    let printer = Task {
        for try await message in messages { print(String(decoding: message, as: UTF8.self)) }
    }
    var requests = [
        #"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"\#(version)","capabilities":{},"#
            + #""clientInfo":{"name":"ModelContext","version":"1"}}}"#,
        #"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        #"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
    ]
    if let tool {
        let name = String(decoding: try JSONEncoder().encode(tool), as: UTF8.self)
        // With the token the server reports the progress of the call, if the tool does.
        let parameters = #"{"name":\#(name),"arguments":\#(arguments),"_meta":{"progressToken":3}}"#
        requests.append(#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":\#(parameters)}"#)
    }
    for request in requests { try await transport.send(Data(request.utf8)) }
    await transport.disconnect()
    try await printer.value
}

guard CommandLine.arguments.count > 1, let endpoint = URL(string: CommandLine.arguments[1]) else {
    print("ModelContext: the address of a server is missing, such as http://127.0.0.1:8000/mcp")
    exit(64)
}
do {
    let words = CommandLine.arguments.dropFirst(2)
    try await converse(endpoint, tool: words.first, arguments: words.dropFirst().first ?? "{}")
} catch {
    print("ModelContext: \(error)")
    exit(1)
}
