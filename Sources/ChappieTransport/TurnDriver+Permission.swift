import ResponseEvents
import StreamSession
import StreamTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asking the program before anything goes out.
extension TurnDriver {
    /// Whether the program looks at requests.
    var asksBeforeSending: Bool { self.engine.configuration.willSend != nil }

    /// The request of an attempt over HTTP, if it may go out; nil when that is not so, which ends the turn, and when
    /// there is none.
    func permittedRequest(for opening: TurnStateMachine.Opening) async -> TransportRequest? {
        guard let request = self.transportRequest(for: opening) else { return nil }
        return await self.mayGoOut(request.body, to: request, attempt: opening.attempt) ? request : nil
    }

    /// Sends the request on the attempt's WebSocket, if it may go out.
    func sendIfPermitted() async {
        guard let attempt = self.attempts.current, let message = self.webSocketMessage() else { return }
        let builder = TransportRequestBuilder(configuration: self.engine.configuration, credential: self.credential)
        guard let upgrade = builder.upgrade(), await self.mayGoOut(message, to: upgrade, attempt: attempt.number) else {
            return
        }
        self.send(message)
    }

    /// Opens a connection beside the upgrade, if its request may go out.
    func openHedgeIfPermitted(_ opening: TurnStateMachine.Opening) async {
        guard let request = await self.permittedRequest(for: self.hedge(opening)) else { return }
        self.openHedge(opening, request)
    }

    /// Asks the program about a message on the WebSocket that carries the response; false when it cannot be asked.
    ///
    /// May be called by any task.
    func mayGoOut(_ message: [UInt8]) async throws -> Bool {
        let builder = TransportRequestBuilder(configuration: self.engine.configuration, credential: nil)
        guard let willSend = self.engine.configuration.willSend, let upgrade = builder.upgrade() else { return false }
        let attempt = self.report.attempts.last?.number ?? 1
        try await willSend(self.outgoing(message, to: upgrade, attempt: attempt))
        return true
    }

    /// Asks the program; what it throws ends the turn.
    private func mayGoOut(_ body: [UInt8], to request: TransportRequest, attempt: Int) async -> Bool {
        guard let willSend = self.engine.configuration.willSend else { return true }
        let outgoing = self.outgoing(body, to: request, attempt: attempt)
        do {
            try await self.answer { try await willSend(outgoing) }
        } catch {
            if error is TotalPassedError || self.isGivenUp { self.endUnanswered(error) } else { self.refused(error) }
            return false
        }
        // Whoever cancels in the meantime wants nothing to be sent.
        guard !self.shared.withLock({ $0.isCancelled }), !Task.isCancelled else {
            self.stop()
            return false
        }
        return self.outcome == nil
    }

    private func outgoing(_ body: [UInt8], to request: TransportRequest, attempt: Int) -> ChappieOutgoingRequest {
        ChappieOutgoingRequest(
            url: request.url ?? self.engine.configuration.baseURL, transport: request.kind, body: body,
            requestID: self.identity.requestID, attempt: attempt)
    }

    private func refused(_ error: any Error) {
        self.closeAttempt(outcome: "request.refused")
        self.end(.failed(ChappieClientError.refusal(error)))
    }
}

extension ChappieClientError {
    /// What a program throws that does not let a request go: an error of this kind, and a cancellation, as they are.
    static func refusal(_ error: any Error) -> any Error {
        switch error {
        case let error as ChappieClientError: error
        case let error as CancellationError: error
        default: Self.requestRefused(String(describing: error))
        }
    }
}

extension TransportRequest {
    /// What goes to the server behind the header section; of a WebSocket nothing.
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

    /// Where the request goes; nil for an endpoint that no URL has.
    var url: URL? {
        let isWebSocket = self.kind == .webSocket
        let scheme = (isWebSocket ? "ws" : "http") + (self.endpoint.isSecure ? "s" : "")
        let host = self.endpoint.host.contains(":") ? "[\(self.endpoint.host)]" : self.endpoint.host
        let port = self.endpoint.port == (self.endpoint.isSecure ? 443 : 80) ? "" : ":\(self.endpoint.port)"
        return URL(string: "\(scheme)://\(host)\(port)\(self.endpoint.target)")
    }
}
