import StreamSession
package import StreamTransport
import TransportSurface

/// A complete document from a server.
package struct FetchedDocument: Sendable, Equatable {
    /// The status code (RFC 9110 section 15): 2xx for a success.
    package let statusCode: Int
    /// The fields that the engine evaluates.
    package let fields: [HTTPField]
    /// The body, its content coding removed.
    package let body: [UInt8]
}

/// Reads whole documents over a transport, within the limits of size and time of a configuration.
///
/// A value of one fetch: the total time counts from its creation, over all its exchanges.
struct DocumentReader {
    /// The reason why there is no document.
    enum Failure: Error {
        /// The task was cancelled.
        case cancelled
        /// The exchange failed below HTTP, after the head of a response or before it.
        case failed(AttemptFailure, hasHead: Bool)
    }

    private let engine: Engine
    /// The end of the time in all; nil for none.
    private let end: Duration?

    /// Creates a reader whose time begins now, with a time limit beside those of the configuration.
    init(engine: Engine, limit: Duration? = nil) {
        self.engine = engine
        let limits = [engine.configuration.timeouts.total, limit].compactMap(\.self)
        self.end = limits.min().map { engine.clock.now() + $0 }
    }

    /// Makes one exchange, and returns the answer with any status code.
    func answer(to request: TransportRequest) async throws(Failure) -> FetchedDocument {
        guard !Task.isCancelled else { throw .cancelled }
        let connection = self.engine.transport.connect(request)
        defer { connection.cancel() }
        return try await self.read(connection)
    }

    private func read(_ connection: any TransportConnection) async throws(Failure) -> FetchedDocument {
        var head: ResponseHead?
        var body: [UInt8] = []
        var lastSign = self.engine.clock.now()
        while true {
            guard let event = connection.next() else {
                try await self.wait(connection, hasHead: head != nil, since: lastSign)
                continue
            }
            lastSign = self.engine.clock.now()
            switch event {
            case .opened(let opened): head = opened
            case .payload(let payload):
                unsafe body.append(contentsOf: payload.bytes)
                guard body.count <= self.bodyLimit(head) else {
                    if let head, !head.isSuccess { return self.document(head, body) }
                    throw .failed(.eventTooLarge(limit: self.bodyLimit(head)), hasHead: true)
                }
            case .ready, .pong: break
            case .ended(let end):
                guard let head, case .complete = end else {
                    // The status code is known, and is more precise than the way the body ended.
                    if let head, !head.isSuccess { return self.document(head, body) }
                    throw .failed(AttemptFailure(end, beforeFirstEvent: head == nil), hasHead: head != nil)
                }
                return self.document(head, body)
            }
        }
    }

    private func document(_ head: ResponseHead, _ body: [UInt8]) -> FetchedDocument {
        FetchedDocument(
            statusCode: head.statusCode, fields: head.fields, body: Array(body.prefix(self.bodyLimit(head))))
    }

    /// Returns the limit of a body: a document may be as large as an event; of an error's body the beginning is kept.
    private func bodyLimit(_ head: ResponseHead?) -> Int {
        let limits = self.engine.configuration.limits
        return max(0, head?.isSuccess == true ? limits.eventByteCount : limits.errorBodyByteCount)
    }

    private func wait(
        _ connection: any TransportConnection, hasHead: Bool, since start: Duration
    ) async throws(Failure) {
        let timeouts = self.engine.configuration.timeouts
        let now = self.engine.clock.now()
        let quiet = (hasHead ? timeouts.idle : timeouts.firstEvent).map { start + $0 - now }
        let total = self.end.map { $0 - now }
        let isTotal = (total ?? .seconds(Int64.max)) < (quiet ?? .seconds(Int64.max))
        let remaining = isTotal ? total : quiet
        if let remaining, remaining <= .zero {
            throw .failed(.timeout(isTotal ? .total : hasHead ? .idle : .firstEvent), hasHead: hasHead)
        }
        // Data that came in the last moment counts: the next step checks again.
        if await connection.wait(for: remaining) == .cancelled { throw .cancelled }
    }
}

extension ResponseHead {
    fileprivate var isSuccess: Bool { (200..<300).contains(self.statusCode) }
}
