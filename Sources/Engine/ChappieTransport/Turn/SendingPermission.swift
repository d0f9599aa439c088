import PlatformFoundation
import StreamTransport

/// The program's permission to send: it gets every request before it is sent, and may refuse it.
///
/// A value; any task may create a question, and ask it independently.
struct SendingPermission {
    /// A closure that asks the program; throws when it does not permit the request.
    typealias Question = @Sendable () async throws -> Void

    private let engine: Engine
    private let requestID: String

    /// Creates the permission for one request; `requestID` is the caller's name for it.
    init(_ engine: Engine, requestID: String) {
        self.engine = engine
        self.requestID = requestID
    }

    /// Indicates whether the program examines requests.
    var isAsked: Bool { self.engine.configuration.willSend != nil }

    /// Returns the question about a request over HTTP; nil when the program is not asked.
    func question(about request: TransportRequest, attempt: Int) -> Question? {
        self.question(about: request.body, over: .httpSSE, to: request, attempt: attempt)
    }

    /// Returns the question about a message on a WebSocket; nil when the program is not asked.
    func question(about message: [UInt8], attempt: Int) -> Question? {
        let builder = TransportRequestBuilder(configuration: self.engine.configuration, credential: nil)
        return self.question(about: message, over: .webSocket, to: builder.upgrade(), attempt: attempt)
    }

    private func question(
        about body: [UInt8], over transport: ChappieTransportKind, to request: TransportRequest?, attempt: Int
    ) -> Question? {
        guard let willSend = self.engine.configuration.willSend else { return nil }
        let outgoing = ChappieOutgoingRequest(
            url: request?.url ?? self.engine.configuration.baseURL, transport: transport, body: body,
            requestID: self.requestID, attempt: attempt)
        return { try await willSend(outgoing) }
    }
}

extension ChappieClientError {
    /// Returns the error of a program that does not permit a request: unchanged if it is of this kind or a
    /// cancellation.
    static func refusal(_ error: any Error) -> any Error {
        switch error {
        case let error as ChappieClientError: error
        case let error as CancellationError: error
        default: Self.requestRefused(String(describing: error))
        }
    }
}

extension TransportRequest {
    /// The bytes after the header section; empty for a WebSocket.
    fileprivate var body: [UInt8] {
        switch self.exchange {
        case .post(let body): body
        case .webSocket, .get: []
        }
    }

    /// The address of the request; nil for an endpoint that a URL cannot name.
    fileprivate var url: URL? {
        var scheme = "http"
        if case .webSocket = self.exchange { scheme = "ws" }
        if self.endpoint.isSecure { scheme += "s" }
        let host = self.endpoint.host.contains(":") ? "[\(self.endpoint.host)]" : self.endpoint.host
        let port = self.endpoint.port == (self.endpoint.isSecure ? 443 : 80) ? "" : ":\(self.endpoint.port)"
        return URL(string: "\(scheme)://\(host)\(port)\(self.endpoint.target)")
    }
}
