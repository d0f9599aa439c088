// The client, and the modules of the engine below it, with one import.
@_exported public import ChappieTransport

/// The entry point of a program: it creates clients.
///
/// ```swift
/// let client = Chappie.client()
/// print(try await client.send("Why is the sky blue?"))
/// ```
public enum Chappie {
    /// Creates a client; no connection is made before it is used.
    public static func client(configuration: ChappieConfiguration = ChappieConfiguration()) -> ChappieClient {
        ChappieClient(configuration: configuration)
    }

    /// Creates a client with a harness, tools and policies, and defaults for all other settings.
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
