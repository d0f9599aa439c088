import CLibwebsocketsShim
import StreamTransport

/// What an exchange gives to its socket: the request's body, and later frames.
extension ServiceConnection {
    /// Asks for a writable event, if there is a socket.
    func requestWrite() {
        if let stream = self.stream { clws_request_write(stream) }
    }

    /// The socket can be written to.
    func write(on stream: OpaquePointer) {
        guard let pointer = self.service.pointer else { return }
        switch self.phase {
        case .requesting, .receivingBody:
            if case .post(let body) = self.plan.request.exchange { self.write(body, on: stream, service: pointer) }
        case .upgraded, .ended:
            self.writeFrames(on: stream, service: pointer)
        case .resolving, .connecting:
            return
        }
    }

    private func write(_ body: [UInt8], on stream: OpaquePointer, service: OpaquePointer) {
        let start = self.sentBodyByteCount
        // Also for an empty body, once: the end has to be said.
        guard start < body.count || (body.isEmpty && !self.plan.arena.statistics.requestSent) else { return }
        let count = min(body.count - start, 16 << 10)
        let buffer = UnsafeMutableBufferPointer(start: clws_write_buffer(service), count: count)
        _ = buffer.update(fromContentsOf: body[start..<start + count])
        let isLast = start + count == body.count
        if isLast { clws_set_body_pending(stream, false) }
        guard clws_write(service, stream, count, isLast ? .bodyEnd : .body) else {
            self.mustClose = true
            return
        }
        self.sentBodyByteCount += count
        self.plan.arena.updateStatistics {
            $0.sentByteCount += count
            $0.requestSent = isLast
        }
        if !isLast { clws_request_write(stream) }
    }
}
