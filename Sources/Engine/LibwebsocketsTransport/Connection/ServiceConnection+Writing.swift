import HTTPProtocol
import StreamTransport

/// The writing side of an exchange: the request, and later frames.
extension ServiceConnection {
    /// Sends the request, unless it is held, once every layer is established.
    func established(_ link: Link) {
        self.noteProgress(\.connected)
        if let observer = self.plan.observer, self.plan.request.endpoint.isSecure, let session = link.tlsSession {
            observer(.secured(session))
        }
        if link.isTLSResumed { self.plan.arena.updateStatistics { $0.isTLSResumed = true } }
        self.phase = .requesting
        do throws(RequestHead.Failure) {
            let head = try RequestFields.head(of: self.plan.request, handshake: self.answer.handshake)
            self.request.begin(RequestUpload(head: head, body: self.body))
        } catch {
            // `RequestFields.fault` has ruled out every cause of this before.
            let cause = TransportFailure.Cause.invalidRequest("it cannot be written")
            return self.finish(.failed(TransportFailure(phase: .send, cause: cause)))
        }
        if self.plan.request.isHeld {
            self.plan.arena.announceReady()
            self.service.wake(self)
        }
        self.requestWrite()
    }

    private var body: [UInt8] {
        switch self.plan.request.exchange {
        case .post(let body): body
        case .get, .webSocket: []
        }
    }

    /// Releases a held request.
    func release() {
        self.request.release()
        self.requestWrite()
    }

    /// Indicates whether there are bytes to write that the socket would take.
    var hasMoreToWrite: Bool {
        switch self.phase {
        case .resolving, .connecting: false
        case .requesting, .receivingBody: self.request.hasMore
        case .upgraded, .ended: self.channel?.hasFrames == true
        }
    }

    /// Writes the next bytes, if the socket has taken all bytes before them.
    func writeMore() {
        guard let link = self.link, !link.hasUnsent else { return }
        switch self.phase {
        case .requesting, .receivingBody: self.continueUpload(on: link)
        case .upgraded, .ended: self.writeFrames(on: link)
        case .resolving, .connecting: return
        }
    }

    private func continueUpload(on link: Link) {
        guard self.request.hasMore else { return }
        if !self.request.isComplete {
            let buffer = self.service.scratch.outgoing
            let count = self.request.fill(buffer)
            link.write(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            guard !link.isDeaf else { return self.uploadFailed() }
            let byteCount = self.request.bodyByteCount
            self.plan.arena.updateStatistics { $0.sentByteCount = byteCount }
        }
        guard self.request.isComplete, !link.hasUnsent else { return }
        self.request.end()
        self.plan.arena.updateStatistics { $0.requestSent = !self.isUpgrade }
    }

    /// Handles a peer that reads no more: it may have answered before, and the answer is still to be read.
    private func uploadFailed() {
        self.request.end()
        self.closeDeadline = .now + self.plan.request.timeouts.close
    }
}
