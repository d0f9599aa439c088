import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The program's permission to send: it sees every request before it goes out, and may refuse it.
///
/// A value; any task may ask for a question, and puts it to the program by itself.
struct SendingPermission {
    /// Asks the program; throws when it does not let the request go.
    typealias Question = @Sendable () async throws -> Void

    private let configuration: ChappieTransportConfiguration
    private let requestID: String

    /// The permission of a request, by its caller's name for it.
    init(_ configuration: ChappieTransportConfiguration, requestID: String) {
        self.configuration = configuration
        self.requestID = requestID
    }

    /// Indicates whether the program looks at requests.
    var isAsked: Bool { self.configuration.willSend != nil }

    /// The question about a request over HTTP; nil when the program is not asked.
    func question(about request: TransportRequest, attempt: Int) -> Question? {
        self.question(about: request.body, to: request, attempt: attempt)
    }

    /// The question about a message on a WebSocket; nil when the program is not asked, or the base URL cannot be used.
    func question(about message: [UInt8], attempt: Int) -> Question? {
        let builder = TransportRequestBuilder(configuration: self.configuration, credential: nil)
        return builder.upgrade().flatMap { self.question(about: message, to: $0, attempt: attempt) }
    }

    private func question(about body: [UInt8], to request: TransportRequest, attempt: Int) -> Question? {
        guard let willSend = self.configuration.willSend else { return nil }
        let outgoing = ChappieOutgoingRequest(
            url: request.url ?? self.configuration.baseURL, transport: request.kind, body: body,
            requestID: self.requestID, attempt: attempt)
        return { try await willSend(outgoing) }
    }
}

extension ChappieClientError {
    /// The error of a program that does not let a request go: one of this kind, and a cancellation, as they are.
    static func refusal(_ error: any Error) -> any Error {
        switch error {
        case let error as ChappieClientError: error
        case let error as CancellationError: error
        default: Self.requestRefused(String(describing: error))
        }
    }
}

extension TransportRequest {
    /// The bytes behind the header section; of a WebSocket none.
    fileprivate var body: [UInt8] {
        switch self.exchange {
        case .post(let body): body
        case .webSocket, .get: []
        }
    }

    fileprivate var kind: ChappieTransportKind {
        switch self.exchange {
        case .webSocket: .webSocket
        case .post, .get: .httpSSE
        }
    }

    /// The address that the request goes to; nil for an endpoint that no URL has.
    fileprivate var url: URL? {
        let isWebSocket = self.kind == .webSocket
        let scheme = (isWebSocket ? "ws" : "http") + (self.endpoint.isSecure ? "s" : "")
        let host = self.endpoint.host.contains(":") ? "[\(self.endpoint.host)]" : self.endpoint.host
        let port = self.endpoint.port == (self.endpoint.isSecure ? 443 : 80) ? "" : ":\(self.endpoint.port)"
        return URL(string: "\(scheme)://\(host)\(port)\(self.endpoint.target)")
    }
}
