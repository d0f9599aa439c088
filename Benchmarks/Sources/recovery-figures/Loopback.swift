// The server of this process, and how the package is pointed at it.
import ChappieTestServer
import ChappieTransport
import Foundation

/// Something came that the server did not send, or did not come.
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
    /// For a server of this process, without delays between attempts.
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
    /// What all turns ask.
    static let short = ChappieTransportRequest(prompt: "hi", model: "m")
}
