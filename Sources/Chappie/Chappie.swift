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
    public static func client(configuration: ChappieConfiguration = ChappieConfiguration()) -> ChappieClient {
        ChappieClient(configuration: configuration)
    }

    /// A client with a harness, tools and policies, and everything else as it is by default.
    ///
    /// No connection is made before it is used.
    public static func client(
        harness: ChappieHarness = .default,
        tools: [ChappieHostTool] = [],
        toolApprovalHandler: ChappieToolApprovalHandler? = nil,
        rateLimitBackoff: ChappieRateLimitBackoffPolicy = .default,
        streamingTransportPolicy: ChappieStreamingTransportPolicy = .default
    ) -> ChappieClient {
        ChappieClient(
            configuration: ChappieConfiguration(
                harness: harness, tools: tools, toolApprovalHandler: toolApprovalHandler,
                rateLimitBackoff: rateLimitBackoff, streamingTransportPolicy: streamingTransportPolicy))
    }
}
