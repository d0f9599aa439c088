// The client, and everything of the engine below it, with one import.
@_exported public import ChappieTransport

/// Where a program begins: it makes clients.
///
/// ```swift
/// let client = Chappie.client()
/// print(try await client.send("Why is the sky blue?"))
/// ```
public enum Chappie {
    /// A client; no connection is made before it is used.
    ///
    /// Every argument has a default. Those that are given take the place of what the configuration says.
    public static func client(
        configuration: ChappieConfiguration = ChappieConfiguration(),
        harness: ChappieHarness? = nil,
        tools: [ChappieHostTool]? = nil,
        toolApprovalHandler: ChappieToolApprovalHandler? = nil,
        rateLimitBackoff: ChappieRateLimitBackoffPolicy? = nil,
        streamingTransportPolicy: ChappieStreamingTransportPolicy? = nil
    ) -> ChappieClient {
        var configuration = configuration
        if let harness { configuration.harness = harness }
        if let tools { configuration.tools = tools }
        if let toolApprovalHandler { configuration.toolApprovalHandler = toolApprovalHandler }
        if let rateLimitBackoff { configuration.rateLimitBackoff = rateLimitBackoff }
        if let streamingTransportPolicy { configuration.streamingTransportPolicy = streamingTransportPolicy }
        return ChappieClient(configuration: configuration)
    }
}
