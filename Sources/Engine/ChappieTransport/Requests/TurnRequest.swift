/// The caller's request for a turn, and the identifiers that are sent with it.
///
/// Immutable. The driver and its sender share one object, because a stream holds it as long as it waits.
final class TurnRequest: Sendable {
    let request: ChappieTransportRequest
    let identity: RequestIdentity

    init(_ request: ChappieTransportRequest) {
        self.request = request
        self.identity = RequestIdentity(requestID: request.requestID, traceContext: request.traceContext)
    }
}
