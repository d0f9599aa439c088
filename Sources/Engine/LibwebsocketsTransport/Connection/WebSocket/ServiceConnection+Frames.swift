import StreamTransport
import WebSocketProtocol

/// The WebSocket side of an exchange: frames in and out, pings, and the closing handshake.
extension ServiceConnection {
    // MARK: Reading

    /// Reads frames; `reserve` is that of `InboundArena.append`.
    ///
    /// Control frames are handled here at once; data is passed to the consumer in runs as long as the read allows.
    func receivedFrames(
        _ bytes: UnsafeRawBufferPointer, of arrival: inout InboundArena.Arrival, reserve: inout InboundBuffer?
    ) {
        // RFC 6455 section 7.1.7: what follows a violation is not processed.
        guard let channel = self.channel, channel.isReading else { return }
        // An event that comes alone needs no list of pieces.
        if let record = channel.onlyMessage(in: bytes) {
            return self.follow(self.plan.arena.append(record, in: bytes, of: &arrival, reserve: &reserve))
        }
        self.receivedFrames(on: channel, bytes, of: &arrival, reserve: &reserve)
    }

    @inline(never)
    private func receivedFrames(
        on channel: WebSocketChannel, _ bytes: UnsafeRawBufferPointer, of arrival: inout InboundArena.Arrival,
        reserve: inout InboundBuffer?
    ) {
        var position = 0
        var records = self.service.pieces.take()
        do throws(FrameError) {
            while let control = try channel.read(bytes, at: &position, into: &records) {
                // More is read from these bytes, so they cannot become the arena's yet.
                let needsOther = !records.isEmpty && reserve != nil
                var other: InboundBuffer? = needsOther ? self.service.takeReserve() : nil
                self.store(&records, in: bytes, of: &arrival, reserve: &other)
                self.service.putBackReserve(other)
                self.plan.arena.count(&arrival)
                self.handle(control, at: arrival.moment)
            }
            self.store(&records, in: bytes, of: &arrival, reserve: &reserve)
        } catch {
            self.store(&records, in: bytes, of: &arrival, reserve: &reserve)
            self.plan.arena.count(&arrival)
            self.violated(error)
        }
        self.service.pieces.giveBack(records)
    }

    private func store(
        _ records: inout [InboundBuffer.Record], in bytes: UnsafeRawBufferPointer,
        of arrival: inout InboundArena.Arrival, reserve: inout InboundBuffer?
    ) {
        guard !records.isEmpty else { return }
        self.follow(self.plan.arena.append(records, in: bytes, of: &arrival, reserve: &reserve))
        records.removeAll(keepingCapacity: true)
    }

    private func handle(_ control: WebSocketChannel.Control, at moment: Moment) {
        switch control {
        case .ping:
            self.plan.arena.noteHeard(at: moment, isPing: true)
            self.answerPing()
        case .pong:
            self.pongReceived()
        case .close:
            self.plan.arena.noteHeard(at: moment, isPing: false)
            self.closeReceived()
        }
    }

    private func pongReceived() {
        if self.channel?.pongReceived() == true { self.follow(self.plan.arena.appendPong()) }
    }

    private func answerPing() {
        if self.channel?.pingReceived() == true { self.requestWrite() }
    }

    private func closeReceived() {
        guard let (frame, action) = self.channel?.closeReceived() else { return }
        self.noteInitiator(action)
        // Messages that were not sent have no reader any more.
        self.perform(action, rest: .isDropped)
        self.announce(.closed(code: (frame.code ?? .noStatusReceived).rawValue, reason: frame.reason))
    }

    /// Records which side began the closing handshake, by the reaction to the peer's close frame.
    private func noteInitiator(_ action: ClosingHandshake.Action) {
        switch action {
        case .sendClose: self.plan.arena.updateStatistics { $0.peerBeganClosing = true }
        case .awaitDisconnect: self.plan.arena.updateStatistics { $0.peerBeganClosing = false }
        case .sendCloseAndDisconnect, .disconnect, .ignore: break
        }
    }

    /// Handles a violation of the protocol by the peer.
    ///
    /// The consumer may have answers to earlier messages, and sends the close frame when it has read all of them. It
    /// has as long for that as the peer has for its own close frame.
    private func violated(_ error: FrameError) {
        guard !self.isCancelled else { return self.closeSocket() }
        self.channel?.violated(error.closeCode)
        self.closeDeadline = .now + self.plan.request.timeouts.close
        let cause: TransportFailure.Cause =
            if case .messageTooBig(let limit) = error {
                .messageTooLarge(limit: limit)
            } else {
                .protocolViolation(closeCode: error.closeCode.rawValue)
            }
        self.announce(.failed(TransportFailure(phase: .stream, cause: cause)))
    }

    // MARK: Writing

    /// Indicates whether a message would go out with those that were queued since the last write.
    func hasRoomInWrite(for message: OutboundMessage) -> Bool {
        self.channel?.hasRoomInWrite(for: message) ?? true
    }

    /// Queues a message.
    func send(_ message: OutboundMessage) {
        guard let channel = self.channel, channel.allowsSending else { return }
        switch self.phase {
        case .upgraded: break
        case .ended where channel.pendingFailure != nil: break
        case .ended, .resolving, .connecting, .requesting, .receivingBody: return
        }
        if channel.hasSentMessages { self.plan.arena.updateStatistics { $0.requestSent = false } }
        channel.append(message)
        self.requestWrite()
    }

    /// Sends a ping for the consumer, whose answer goes to `ticket`, or else to the consumer.
    func ping(for ticket: PingTicket? = nil) {
        guard case .upgraded = self.phase, let channel = self.channel, channel.allowsSending else { return }
        channel.appendPing(for: ticket)
        self.requestWrite()
    }

    /// Writes the frames that fit into one write.
    func writeFrames(on link: Link) {
        guard let channel = self.channel else { return }
        let buffer = self.service.scratch.outgoing
        let count = channel.fill(buffer, masking: &self.service.maskingKeys)
        if count > 0 {
            link.write(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
            self.noteSent(count, on: channel)
        }
        if channel.isDone, !link.hasUnsent { self.closeSocket() }
    }

    private func noteSent(_ count: Int, on channel: WebSocketChannel) {
        let isSent = channel.hasSentMessages
        self.plan.arena.updateStatistics {
            $0.sentByteCount += count
            $0.requestSent = isSent
        }
        let written = channel.takeMovedWeight()
        if written > 0 { self.plan.arena.outbound.noteWritten(byteCount: written) }
    }

    // MARK: Closing

    /// Starts the closing handshake, or fails the connection when the code reports an error.
    func close(code: UInt16) {
        switch self.phase {
        case .upgraded, .ended:
            guard let channel = self.channel else { return self.closeSocket() }
            let code = channel.pendingFailure ?? CloseCode(rawValue: code)
            let action = code == .normalClosure ? channel.requestClose(CloseFrame(code: code)) : channel.fail(code)
            self.perform(action, rest: .isSent)
            // A socket that is not read never shows the peer's close frame, and is reset by its unread bytes.
            self.plan.arena.dropOverflow()
            self.resumeReading()
        case .resolving, .connecting, .requesting, .receivingBody:
            self.cancel()
        }
    }

    /// Starts the closing handshake with any code, or none, behind all messages that were queued before.
    ///
    /// The consumer goes on receiving, so that nothing is dropped: reading waits for it at the high watermark, for as
    /// long as the closing handshake may take.
    func close(with frame: CloseFrame) {
        switch self.phase {
        case .upgraded, .ended:
            guard let channel = self.channel else { return self.closeSocket() }
            if let code = channel.pendingFailure { return self.close(code: code.rawValue) }
            self.perform(channel.requestClose(frame), rest: .isSentWhole)
        case .resolving, .connecting, .requesting, .receivingBody:
            self.cancel()
        }
    }

    /// Sends the close frame for a violation when the consumer has not read up to it in time.
    ///
    /// Returns false when there is none to send.
    func failPending() -> Bool {
        guard let channel = self.channel, let code = channel.pendingFailure, channel.allowsSending else { return false }
        self.perform(channel.fail(code), rest: .isDropped)
        return true
    }

    /// The longest wait for the end of a cancelled WebSocket.
    private static let cancellationTimeout = Duration.milliseconds(500)

    /// Ends a cancelled WebSocket with a close frame, or continues its closing handshake, for a short time.
    ///
    /// Until the peer closes, its bytes are read and dropped: a socket that is closed with unread bytes is reset (RFC
    /// 2525 section 2.17), and the peer may lose the close frame with it. Returns false when there is no WebSocket to
    /// close, or its socket takes no bytes.
    func closeCancelled() -> Bool {
        guard let link = self.link, let channel = self.channel, !link.isChoked else { return false }
        switch self.phase {
        case .upgraded: break
        case .ended where channel.pendingFailure != nil || self.isClosing: break
        case .ended, .resolving, .connecting, .requesting, .receivingBody: return false
        }
        self.isCancelled = true
        self.announce(.failed(TransportFailure(phase: .stream, cause: .cancelled)))
        if !self.failPending() {
            self.perform(channel.requestClose(CloseFrame(code: .goingAway)), rest: .isDropped)
        }
        self.limitClosing(to: .now + Self.cancellationTimeout)
        self.resumeReading()
        return true
    }

    /// Indicates whether the closing handshake has begun, and the socket is still open.
    var isClosing: Bool {
        guard let channel = self.channel, self.link != nil else { return false }
        return !channel.allowsSending
    }

    /// Limits the wait for the peer's part of the closing handshake to `deadline`.
    func limitClosing(to deadline: Moment) {
        self.closeDeadline = self.closeDeadline.map { min($0, deadline) }
    }

    private func perform(_ action: ClosingHandshake.Action, rest: FrameQueue.Rest) {
        switch action {
        case .sendClose(let frame):
            self.queueClose(frame, rest: rest, disconnects: false)
        case .sendCloseAndDisconnect(let frame):
            self.queueClose(frame, rest: rest, disconnects: true)
        case .awaitDisconnect, .ignore:
            break
        case .disconnect:
            self.closeSocket()
        }
    }

    private func queueClose(_ frame: CloseFrame, rest: FrameQueue.Rest, disconnects: Bool) {
        self.plan.arena.outbound.close()
        self.channel?.appendClose(frame, rest: rest, disconnects: disconnects)
        self.closeDeadline = .now + self.plan.request.timeouts.close
        self.requestWrite()
    }
}
