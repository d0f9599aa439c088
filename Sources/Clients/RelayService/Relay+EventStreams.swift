import ChappieRelay
import ChappieTransport
import HTTPProtocol
import RelayHTTPServer

/// The event streams of a relay, for browsers.
extension Relay {
    /// Starts the stream of a request, and answers with its address.
    func createStream(_ request: HTTPServerRequest, _ caller: Caller) async {
        do {
            let relayed = try RelayRequest(request.body, model: self.configuration.model)
            let id = try await self.begin(relayed, key: request.fields.value(of: "idempotency-key"), caller)
            self.respond(
                caller, 201, "{\"id\":\"\(id)\",\"url\":\"/streams/\(id)\"}", [("Location", "/streams/\(id)")])
        } catch {
            self.refuse(caller, error)
        }
    }

    /// Writes a stream for a browser's `EventSource`: each event with its position as `id`.
    ///
    /// `state` is the stream's of a moment ago.
    func writeStream(
        _ id: ChappieStreamID, _ state: ChappieStreamState, after position: Int, _ caller: Caller
    ) async {
        // No event follows: 204 tells an EventSource not to reconnect (WHATWG HTML section 9.2). A reader that has more
        // than the journal of a stream that is not complete is told that records were lost.
        let isBehindEnd = position > state.lastPosition && state.status == .completed
        if isBehindEnd || (state.status != .running && position == state.lastPosition) {
            return self.respond(caller, 204, "")
        }
        await self.stream(to: caller) {
            self.metrics.readerCame()
            defer { self.metrics.readerLeft() }
            try await caller.exchange.write(Array("retry: 1000\n\n".utf8))
            var events = self.hub.events(of: id, after: position).makeAsyncIterator()
            let (exchange, metrics) = (caller.exchange, self.metrics)
            var last = position
            do {
                if state.status == .running, position > state.lastPosition {
                    throw ChappieHubError.failed(.recordsLost)
                }
                while let batch = try await events.nextBatch() {
                    let bytes = ChappieHubForm.eventSource.encode(batch)
                    self.metrics.wrote(batch.count)
                    last = batch.last?.position ?? last
                    if batch.last?.event == .completed { self.endRequest(of: caller) }
                    if !bytes.isEmpty { try await caller.exchange.write(bytes) }
                    last = await events.pass(ChappieHubForm.eventSource) { bytes, count in
                        guard exchange.offer(bytes) == .accepted else { return false }
                        metrics.wrote(count)
                        return true
                    }
                }
            } catch let error as ChappieHubError where error.isOfResponse {
                let (code, message) = Self.words(error)
                last = max(last, try await self.hub.state(of: id).lastPosition)
                let data = Self.errorObject(code: code, message: message)
                self.endRequest(of: caller)
                try await caller.exchange.write(Array("id: \(last)\nevent: failed\ndata: \(data)\n\n".utf8))
            }
        }
    }
}
