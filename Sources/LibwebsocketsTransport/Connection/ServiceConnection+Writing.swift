import HTTPProtocol
import StreamTransport

/// The writing side of an exchange: the request, and later frames.
extension ServiceConnection {
    /// Sends the request, unless it is held, once every layer is established.
    func established(_ link: Link) {
        self.noteProgress(\.connected)
        if let report = self.plan.whenSecured, self.plan.request.endpoint.isSecure, let session = link.tlsSession {
            report(session)
        }
        if link.isTLSResumed { self.plan.arena.updateStatistics { $0.isTLSResumed = true } }
        self.phase = .requesting
        do throws(RequestHead.Failure) {
            let head = try RequestFields.head(of: self.plan.request, handshake: self.handshake)
            self.upload = RequestUpload(head: head, body: self.body)
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

    /// Indicates whether the request waits for its release.
    private var isHeld: Bool { self.plan.request.isHeld && !self.isReleased }

    /// Releases a held request.
    func release() {
        self.isReleased = true
        self.requestWrite()
    }

    /// Schedules a write for when the current event has been handled.
    func requestWrite() { self.wantsWrite = true }

    /// Indicates whether there are bytes to write that the socket would take.
    var hasMoreToWrite: Bool {
        switch self.phase {
        case .resolving, .connecting: false
        case .requesting, .receivingBody: self.upload != nil && !self.isHeld
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
        guard var upload = self.upload, !self.isHeld else { return }
        if !upload.isComplete {
            let count = upload.fill(self.service.scratch.outgoing)
            link.write(
                UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(self.service.scratch.outgoing)[..<count]))
            guard !link.isDeaf else { return self.uploadFailed() }
            self.upload = upload
            self.plan.arena.updateStatistics { $0.sentByteCount = upload.bodyByteCount }
        }
        guard upload.isComplete, !link.hasUnsent else { return }
        self.upload = nil
        self.plan.arena.updateStatistics { $0.requestSent = !self.isUpgrade }
    }

    /// Handles a peer that reads no more: it may have answered before, and the answer is still to be read.
    private func uploadFailed() {
        self.upload = nil
        self.closeDeadline = .now + self.plan.request.timeouts.close
    }
}
