// The protocol by ChappieTransport: the only file of the program that knows it.
import ChappieTransport
import Foundation

/// Answers each question by a request of its own, over connections that all of them share.
public struct ChappieAnswerService: AnswerService {
    // One engine for the whole program: it keeps connections, and remembers what the server supports.
    private let transport: ChappieStreamingTransport
    private let model: String

    /// Creates a service; no connection is made before the first question.
    public init(baseURL: URL, key: String, model: String) {
        let configuration = ChappieTransportConfiguration(baseURL: baseURL) { _ in ChappieCredential(bearerToken: key) }
        self.transport = ChappieStreamingTransport(configuration: configuration)
        self.model = model
    }

    /// Passes on the answer to a question.
    public func answer(_ question: String, receive: (String) async throws -> Void) async throws {
        var hasPieces = false
        do {
            for try await event in self.transport.events(ChappieTransportRequest(prompt: question, model: self.model)) {
                guard case .textDelta(let text) = event else { continue }
                hasPieces = true
                try await receive(text)
            }
        } catch let error as ChappieClientError {
            throw AnswerError(error, hasPieces: hasPieces)
        }
        // A task that is cancelled between two events sees the sequence end without an error.
        try Task.checkCancellation()
    }
}

extension AnswerError {
    /// Translates an error by its category and guidance, which every case has: one that a later version adds, too.
    init(_ error: ChappieClientError, hasPieces: Bool) {
        if error.category == .auth {
            self = .keyRefused
        } else if hasPieces {
            self = .brokenOff
        } else if case .retryWithBackoff(let seconds) = error.retryGuidance {
            self = .unavailable(retryAfter: .seconds(seconds))
        } else {
            self = .failed(tag: error.tag)
        }
    }
}
