// The configuration for the server of this process.
import ChappieTestServer
import ChappieTransport
import Foundation

/// A result that differs from the data that the server sent.
struct WrongResultError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension ChappieTestServer.ScriptedModel {
    /// A short answer of text alone.
    static func text(byteCount: Int) -> Self {
        var model = Self(seed: 1, textByteCount: byteCount)
        model.includesReasoning = false
        return model
    }
}

extension ChappieTransportConfiguration {
    /// The configuration for a server of this process, without delays between attempts.
    static func loopback(_ baseURL: String, _ change: (inout Self) -> Void = { _ in }) throws -> Self {
        guard let url = URL(string: baseURL) else { throw URLError(.badURL) }
        var configuration = Self(baseURL: url)
        configuration.reconnectDelay = .zero
        configuration.circuitBreaker = .disabled
        configuration.proxy = .none
        change(&configuration)
        return configuration
    }
}

extension ChappieTransportRequest {
    /// The request of all turns.
    static let short = ChappieTransportRequest(prompt: "hi", model: "m")
}
