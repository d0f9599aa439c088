// The options of the command line for servers whose WebSocket is not where or as others have it.
import Chappie

/// The path and the subprotocol of a server's WebSocket.
struct WebSocketQuirks {
    /// The option that names the path.
    static let pathOption = CommandSyntax.Option(
        "websocket-path", "PATH", "the path of the WebSocket below the base URL; default /responses")
    /// The option that names the subprotocol.
    static let subprotocolOption = CommandSyntax.Option(
        "websocket-subprotocol", "NAME",
        "the subprotocol that an upgrade offers, such as openai-beta.responses.v1; default none")

    /// The path; nil where none is named.
    let path: String?
    /// The subprotocol; nil where none is named.
    let subprotocol: String?

    /// Reads the arguments.
    init(_ arguments: ParsedArguments) {
        self.path = arguments.text("websocket-path")
        self.subprotocol = arguments.text("websocket-subprotocol")
    }

    /// Sets what the arguments name.
    func apply(to endpoint: inout ChappieEndpoint) {
        if let path = self.path { endpoint.webSocketPath = path }
        if let subprotocol = self.subprotocol { endpoint.webSocketSubprotocol = subprotocol }
    }
}
