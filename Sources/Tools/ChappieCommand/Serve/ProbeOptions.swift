// The arguments of `chappie serve --probe` as the configuration of the probe server.
import ChappieTestServer

/// The configuration of a probe server, from a command line.
struct ProbeOptions {
    /// The server's configuration.
    let configuration: ProbeServer.Configuration

    /// The options that a probe server has no use for.
    private static let otherOptions = [
        "recording", "scenario", "upstream", "fault", "rate", "compress", "pending", "token-lifetime", "guard",
    ]

    /// Reads the arguments.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        if let option = Self.otherOptions.first(where: arguments.has) {
            throw UsageError("option --\(option) is for the test server, not for --probe")
        }
        if arguments.has("ca-out"), !arguments.has("tls") { throw UsageError("option --ca-out needs --tls") }
        var configuration = ProbeServer.Configuration()
        configuration.port = try UInt16(arguments.integer("port", in: 0...65_535) ?? 0)
        if arguments.has("tls") { configuration.tls = .init() }
        if let address = arguments.text("listen") {
            guard ProbeServer.isAddress(address) else {
                throw UsageError("option --listen needs a numeric address such as 0.0.0.0 or ::, not '\(address)'")
            }
            configuration.address = address
        }
        self.configuration = configuration
    }
}
