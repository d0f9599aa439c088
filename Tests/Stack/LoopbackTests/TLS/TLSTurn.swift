import ChappieTestServer
import ChappieTransport
import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// A server with TLS whose authority's file is at hand, for as long as this lives.
struct TLSServer {
    let server: ChappieTestServer
    private let directory: TemporaryDirectory
    /// The PEM file of the authority that signed the server's certificate.
    let trustPath: String

    init(
        _ options: ChappieTestServer.TLSOptions = .init(), faults: [ChappieTestServer.Fault] = [],
        model: ChappieTestServer.ScriptedModel = LoopbackTurn.model
    ) throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(model), faults: faults)
        configuration.tls = options
        self.server = try ChappieTestServer(configuration: configuration)
        self.directory = try TemporaryDirectory()
        self.trustPath = try self.directory.write(try #require(self.server.caPEM), to: "ca.pem")
    }

    /// Writes a file beside; its path.
    func write(_ text: String, to name: String) throws -> String { try self.directory.write(text, to: name) }

    /// One turn, which trusts the server's authority unless `change` says otherwise.
    func turn(
        over wire: Wire, host: String = "127.0.0.1", _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> StreamOutcome {
        await ChappieStreamingTransport(
            configuration: .loopback("https://\(host):\(self.server.port)/v1") { configuration in
                configuration.policy = wire.alone
                configuration.tls.trust = .file(path: self.trustPath)
                change(&configuration)
            }
        ).outcome()
    }

    /// Returns the endpoint for a transport.
    func endpoint(host: String = "127.0.0.1") throws -> TransportEndpoint {
        TransportEndpoint(
            isSecure: true, host: host, port: try #require(UInt16(exactly: self.server.port)), target: "/v1/responses")
    }

    /// A request for a response, with that policy.
    func connect(host: String = "127.0.0.1", _ policy: ChappieTLSPolicy? = nil) throws -> any TransportConnection {
        let body = Array(#"{"model":"m","input":[],"stream":true}"#.utf8)
        return LibwebsocketsTransport(tls: policy ?? ChappieTLSPolicy(trust: .file(path: self.trustPath)))
            .connect(TransportRequest(endpoint: try self.endpoint(host: host), exchange: .post(body: body)))
    }
}

/// Runs a program of the system to its end.
///
/// Returns its standard output, and its exit status.
@discardableResult
func run(
    _ program: String, _ arguments: [String], input text: String = "", environment: [String: String] = [:]
) async throws -> (output: Data, status: Int32) {
    try await ChildProcess.run(program, arguments, input: text, environment: environment)
}
