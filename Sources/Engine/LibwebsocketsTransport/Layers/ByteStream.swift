import CLibwebsocketsShim
import PlatformC
package import StreamTransport

/// The settings and memory that the byte streams of one thread share.
///
/// It belongs to that thread.
package final class ByteStreamContext {
    fileprivate let scratch = LayerScratch()
    fileprivate let tls: OpaquePointer?

    /// Creates a context; with a policy its streams have TLS.
    package init(tls: ChappieTLSPolicy?) throws(TransportFailure) {
        if let tls { self.tls = try makeTLSContext(for: tls) } else { self.tls = nil }
    }

    deinit { if let tls = self.tls { clws_tls_context_free(tls) } }
}

/// A TCP connection, with TLS or without, for a protocol other than HTTP and on a thread that is no service thread.
///
/// It never blocks: its thread waits with `poll` for `awaitedEvents`. It belongs to that thread, and is closed with
/// `close()`.
package final class ByteStream {
    /// The result of a read.
    package enum Reading: Equatable {
        /// So many bytes were given to the closure; perhaps 0.
        case bytes(Int)
        /// The peer sends no more.
        case ended
    }

    private enum State {
        case connecting, open, closed
    }

    /// TCP looks whether the peer is there after this time of quiet.
    private static let keepAlive = (idleSeconds: Int32(20), probeSeconds: Int32(5), silenceMilliseconds: Int32(30_000))

    /// The socket.
    package let descriptor: CInt
    private let context: ByteStreamContext
    private let plaintext: UnsafeMutableRawBufferPointer
    private var stack: LayerStack
    private var state = State.connecting
    private var unsent: [UInt8] = []
    private var sentCount = 0

    /// Starts a connection to a numeric address of a host, whose name the certificate must have; throws where there is
    /// no socket.
    package init(
        to address: String, port: UInt16, host: String, context: ByteStreamContext
    ) throws(TransportFailure) {
        var hasSocket = false
        let descriptor = clws_socket_connect(address, port, &hasSocket)
        guard descriptor >= 0 else {
            if let limit = hasSocket ? nil : DescriptorLimit.exhausted() {
                throw TransportFailure(phase: .connect, cause: .descriptorsExhausted(limit: limit))
            }
            throw TransportFailure(phase: .connect, cause: .unreachable(code: -descriptor))
        }
        self.descriptor = descriptor
        self.context = context
        self.stack = LayerStack(
            context.tls.map { [.tls(context: $0, host: host, port: port, isProxy: false)] } ?? [],
            scratch: context.scratch)
        self.plaintext = .allocate(byteCount: LayerScratch.readByteCount + TLSLayer.overhead, alignment: 64)
    }

    deinit {
        self.close()
        self.plaintext.deallocate()
    }

    /// Indicates whether bytes may be written: TCP and TLS are up.
    package var isEstablished: Bool { self.state == .open && self.stack.isEstablished }

    /// The events to wait for with `poll`.
    package var awaitedEvents: Int16 {
        switch self.state {
        case .connecting: Int16(POLLOUT)
        case .open: Int16(POLLIN) | (self.unsent.isEmpty ? 0 : Int16(POLLOUT))
        case .closed: 0
        }
    }

    /// Goes on once the socket is writable: with the layers when TCP has connected, with bytes that were kept otherwise.
    package func becameWritable() throws(TransportFailure) {
        switch self.state {
        case .connecting:
            let code = clws_socket_error(self.descriptor)
            guard code == 0 else { throw TransportFailure(phase: .connect, cause: .unreachable(code: code)) }
            self.state = .open
            clws_socket_watch_peer(
                self.descriptor, Self.keepAlive.idleSeconds, Self.keepAlive.probeSeconds,
                Self.keepAlive.silenceMilliseconds)
            try self.finish(self.stack.start())
        case .open:
            let count = self.unsent.withUnsafeBytes {
                self.offer(UnsafeRawBufferPointer(rebasing: $0[self.sentCount...]))
            }
            self.sentCount += count
            // A byte is moved once on average, while others are appended behind it.
            guard self.sentCount * 2 >= self.unsent.count else { return }
            if self.sentCount < self.unsent.count {
                self.unsent.removeFirst(self.sentCount)
            } else {
                // A burst would keep its memory for the life of the connection.
                self.unsent = []
            }
            self.sentCount = 0
        case .closed: break
        }
    }

    /// Reads what the socket holds, at most 256 KiB, and gives the plaintext to a closure.
    package func read(_ body: (UnsafeRawBufferPointer) -> Void) throws(TransportFailure) -> Reading {
        guard self.state == .open else { return .bytes(0) }
        let incoming = self.context.scratch.incoming
        let taken = clws_socket_read(self.descriptor, incoming.baseAddress, LayerScratch.readByteCount)
        guard taken > 0 else {
            if -taken == Int(EAGAIN) || -taken == Int(EWOULDBLOCK) { return .bytes(0) }
            guard self.stack.isEstablished else { throw self.stack.failureOfEnd }
            guard taken == 0, self.stack.hasEndInOrder else {
                throw TransportFailure(phase: .stream, cause: .connectionLost)
            }
            return .ended
        }
        let bytes = UnsafeRawBufferPointer(rebasing: incoming[..<taken])
        let (count, outcome) = self.stack.receive(bytes, into: self.plaintext)
        if count > 0 { body(UnsafeRawBufferPointer(rebasing: self.plaintext[..<count])) }
        let hasEnded = outcome == .ended
        try self.finish(outcome)
        return hasEnded ? .ended : .bytes(count)
    }

    private func finish(_ outcome: LayerStack.Outcome) throws(TransportFailure) {
        self.context.scratch.takeOutput { self.give($0) }
        if case .failed(let failure) = outcome { throw failure }
    }

    /// Writes bytes, and keeps those that the socket does not take; of no effect before the stream is established.
    ///
    /// A peer that has gone is noticed by the next read.
    package func write(_ bytes: [UInt8]) {
        guard self.isEstablished else { return }
        bytes.withUnsafeBytes { bytes in
            guard !self.stack.isTransparent else { return self.give(bytes) }
            self.stack.send(bytes)
            self.context.scratch.takeOutput { self.give($0) }
        }
    }

    private func give(_ bytes: UnsafeRawBufferPointer) {
        let count = self.unsent.isEmpty ? self.offer(bytes) : 0
        if count < bytes.count { self.unsent.append(contentsOf: bytes[count...]) }
    }

    /// Writes bytes to the socket; returns the number that it takes, all of them where the peer takes no more at all.
    private func offer(_ bytes: UnsafeRawBufferPointer) -> Int {
        let given = clws_socket_write(self.descriptor, bytes.baseAddress, bytes.count)
        if given >= 0 { return given }
        return -given == Int(EAGAIN) || -given == Int(EWOULDBLOCK) ? 0 : bytes.count
    }

    /// Closes the socket, after the end of TLS where that can still be sent.
    package func close() {
        guard self.state != .closed else { return }
        if self.isEstablished, self.unsent.isEmpty {
            self.stack.end()
            self.context.scratch.takeOutput { self.give($0) }
        }
        self.state = .closed
        clws_socket_close(self.descriptor, !self.unsent.isEmpty)
    }
}
