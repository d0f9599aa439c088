import CLibwebsocketsShim
import StreamTransport

/// What an exchange gives to its socket: the request, and later frames.
extension ServiceConnection {
    private static let pieceByteCount = 16 << 10

    // MARK: The header section

    /// Completes the header section that libwebsockets has begun, or stops it where it stands.
    func writeFields(to event: StreamEvent) {
        self.noteProgress(\.connected)
        if let stream = self.stream, clws_is_resumed(stream) {
            self.plan.arena.updateStatistics { $0.isTLSResumed = true }
        }
        if let stream = self.stream, let care = SocketCare(self.plan.request) {
            clws_watch_peer(stream, care.idleSeconds, care.probeSeconds, care.silenceMilliseconds)
        }
        self.phase = .requesting
        var fields = RequestFields.bytes(for: self.plan.request, handshake: self.handshake)
        guard fields.count <= event.count else { return self.refuseFields() }
        if self.plan.request.isHeld {
            self.plan.arena.announceReady()
            self.service.wake(self)
        }
        var head: [UInt8] = []
        if self.isHeld {
            guard let begun = Self.takeBack(from: event) else {
                return self.finish(.failed(TransportFailure(phase: .send, cause: .unavailable)))
            }
            head = begun + fields + Array("\r\n".utf8)
            fields = []
        }
        guard clws_write_fields(event.payload, event.count, fields, fields.count, self.isUpgrade) else {
            return self.refuseFields()
        }
        guard !self.isUpgrade else { return }
        self.upload = RequestUpload(head: head, body: self.body)
        if !self.isHeld { self.service.upload(self) }
    }

    private func refuseFields() {
        let cause = TransportFailure.Cause.invalidRequest("the fields are larger than 60 KiB")
        self.finish(.failed(TransportFailure(phase: .send, cause: cause)))
    }

    /// Everything but the request line, which goes out alone.
    ///
    /// libwebsockets cannot be kept from writing as soon as the connection is there, but it can be kept from writing
    /// more than this. A server cannot act on a request line: it has no header section, and no credential.
    private static func takeBack(from event: StreamEvent) -> [UInt8]? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { buffer in
            let count = clws_take_back(event.payload, event.count, buffer.baseAddress, buffer.count)
            return count < 0 ? nil : Array(buffer.prefix(count))
        }
    }

    private var body: [UInt8] {
        switch self.plan.request.exchange {
        case .post(let body): body
        case .get, .webSocket: []
        }
    }

    // MARK: The rest of the request

    /// Whether the request waits to be let go.
    var isHeld: Bool { self.plan.request.isHeld && !self.isReleased }

    /// Lets a held request go.
    func release() {
        guard self.isHeld else { return }
        self.isReleased = true
        if self.upload != nil { self.service.upload(self) }
    }

    /// Writes a piece of the request, if the one before it is with the socket; false when there is no more to do.
    ///
    /// Before the response's header section libwebsockets tells nobody that a socket can be written to, unless it is
    /// told that a body is pending; and then it reads no response until that body is whole, and turns round and round
    /// when one comes. So nothing is pending, and what is left to write is looked after once in each round of the
    /// loop: libwebsockets keeps what did not fit, and writes it when it can.
    func continueUpload() -> Bool {
        guard let stream = self.stream, let service = self.service.pointer, var upload = self.upload else {
            return false
        }
        guard !clws_is_write_pending(stream) else { return true }
        if !upload.isComplete {
            let buffer = UnsafeMutableBufferPointer(start: clws_write_buffer(service), count: Self.pieceByteCount)
            let count = upload.fill(buffer)
            guard clws_write(service, stream, count) else {
                self.uploadFailed()
                return false
            }
            self.upload = upload
            self.plan.arena.updateStatistics { $0.sentByteCount = upload.bodyByteCount }
            clws_request_write(stream)
            guard upload.isComplete, !clws_is_write_pending(stream) else { return true }
        }
        self.upload = nil
        self.plan.arena.updateStatistics { $0.requestSent = true }
        return false
    }

    /// The peer reads no more: it may have answered before, and that is still to be read.
    private func uploadFailed() {
        self.upload = nil
        self.closeDeadline = .now + self.plan.request.timeouts.close
    }

    // MARK: Frames

    /// Asks for a writable event, if there is a socket.
    func requestWrite() {
        if let stream = self.stream { clws_request_write(stream) }
    }

    /// The socket can be written to.
    func write(on stream: OpaquePointer) {
        guard let pointer = self.service.pointer else { return }
        switch self.phase {
        case .upgraded, .ended:
            self.writeFrames(on: stream, service: pointer)
        case .resolving, .connecting, .requesting, .receivingBody:
            return
        }
    }
}
